"""The journal of a run: append-only events, and blobs by hash, in the SQLite file `RUN/journal.db`."""

from kernelwright.journal.consistent import History
from kernelwright.journal.database import NAME, SCHEMA_VERSION, last_seq
from kernelwright.journal.events import Abandoned, Event, EventKind, JudgedAgain, Profiles, SessionEnd, SessionStart
from kernelwright.journal.fold import RunState, Session, fold
from kernelwright.journal.lanes import LaneTallies, LaneTally
from kernelwright.journal.store import Journal
from kernelwright.journal.writer_lock import is_elsewhere, writer
