"""The record of a run: `RUN/journal.db`, SQLite, append-only events and blobs by hash.

It decides nothing and measures nothing. An event is committed before anyone acts on it, so a run
killed at any moment resumes from what was written.
"""

from kernelwright.journal.database import NAME, SCHEMA_VERSION, writer
from kernelwright.journal.events import (
    Abandoned,
    Event,
    EventKind,
    Profiles,
    SessionEnd,
    SessionStart,
)
from kernelwright.journal.fold import RunState, Session, fold
from kernelwright.journal.lanes import LaneTallies, LaneTally
from kernelwright.journal.store import Journal

__all__ = [
    "NAME",
    "SCHEMA_VERSION",
    "Abandoned",
    "Event",
    "EventKind",
    "Journal",
    "LaneTallies",
    "LaneTally",
    "Profiles",
    "RunState",
    "Session",
    "SessionEnd",
    "SessionStart",
    "fold",
    "writer",
]
