"""The processes of one run, found in /proc by the folder for temporary files that they inherited, and by their parents.

Nothing is ended here but what belongs to that run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

FORK_SERVER, WORKER = "kernelwright.worker.processes.forkserver", "kernelwright.worker"


@dataclass(frozen=True)
class Process:
    """role: coordinator, worker (a stand-in), supervisor, fork server, judge, bench, recorder, compiler, …"""

    pid: int
    role: str


def of_run(scratch: Path) -> list[Process]:
    """scratch: the run's TMPDIR. Zombies do not count."""
    mark = f"TMPDIR={scratch}".encode()
    parents: dict[int, int] = {}
    ours: set[int] = set()
    for entry in os.listdir("/proc"):
        if not entry.isdecimal():
            continue
        pid = int(entry)
        try:
            state, parent = _state(pid)
            if state == "Z":
                continue
            parents[pid] = parent
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                ours.add(pid)
        except OSError:  # it ended, or it is confined: then its parent tells whose it is
            continue
    while more := {pid for pid, parent in parents.items() if parent in ours and pid not in ours}:
        ours |= more
    return [Process(pid, role) for pid in sorted(ours) if (role := _role(pid, parents))]


def kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def gone_after_s(scratch: Path, limit_s: float) -> float | None:
    """Seconds until no process of the run is left; None where one is left after the limit."""
    start_s = time.monotonic()
    while of_run(scratch):
        if time.monotonic() - start_s > limit_s:
            return None
        time.sleep(0.02)
    return time.monotonic() - start_s


def _state(pid: int) -> tuple[str, int]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[1])


def _role(pid: int, parents: dict[int, int]) -> str:
    words = _words(pid)
    if FORK_SERVER in words:
        return "fork server" if FORK_SERVER not in _words(parents.get(pid, 0)) else _child(pid)
    if WORKER in words:
        return "supervisor"
    if "--worker" in words:
        return "worker"
    return "coordinator" if "optimize" in words else "other" if words else ""


def _child(pid: int) -> str:
    """A child of the fork server by its log, which is named for its role; one that is confined hides it."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/fd/1")).partition("-")[0].partition(".")[0]
    except OSError:
        return "confined"


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
