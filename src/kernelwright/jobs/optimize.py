"""Searches for a faster kernel and verifies it: one session of a new run, or of one that is resumed.

result = optimize("softmax", trials=24, desk=Desk(print))
print(result.verdict, result.folder)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.jobs.in_mode_any import judge_in_mode_any
from kernelwright.jobs.runs import OpenRun, begin, new_run, on_lanes, reopen
from kernelwright.jobs.session import SessionResult, run_session
from kernelwright.jobs.settings import NO_FILE, NO_LIMITS, NO_OPTIONS, SettingsFile, read_options
from kernelwright.jobs.worker import Desk
from kernelwright.model import Budget, RunOptions


def optimize(
    problem: str | Path | None = None,
    *,
    settings: SettingsFile = NO_FILE,
    desk: Desk,
    max_autotune: bool = False,
    **options: Any,
) -> SessionResult:
    """Begin a run, search until its budget is spent or every open request waits for a reply, and confirm the best.

    problem: a file, a folder with `problem.py`, or a name in the gallery; None: the settings file's. settings: options
    from a file (`read_settings`), used where none is given here; the user must consent to some of them. options: fields
    of `RunOptions`; `gpus`, `workers` and `target` replace what the desk says of them. max_autotune: measure that mode
    of torch.compile beside the best kernel, too (slow).

    An interrupt ends the session in order (`StopReason.INTERRUPTED`). Raises `RequestError`, `ConfigError` and
    `ProblemError` for the request, `MachineError` where torch or Triton is missing, `ProviderError` and `WorkerError`
    where the search cannot continue; the run can then be resumed. Raises `NothingToWin` where there is no starter and
    what torch.compile generates is a library call alone that is near its bound.
    """
    given = read_options({**options, "problem": None if problem is None else str(problem)})
    run = new_run(given, settings, desk)
    with begin(run) as opened:
        desk.notify(f"run folder: {opened.journal.folder}")
        return search(opened, desk, max_autotune)


def resume(
    folder: str | Path, limits: Budget = NO_LIMITS, *, agreed: RunOptions = NO_OPTIONS, desk: Desk
) -> SessionResult:
    """Continue the run in `folder` with another session.

    limits: in place of the run's own, where given; the run keeps them. agreed: options of the run that the user gives
    again to consent to them, and the lanes of this session (`gpus`, `workers`). Raises `RunFolderError` where the
    folder holds no run that can be resumed, and the errors of `optimize`.
    """
    desk, agreed = on_lanes(desk, agreed)
    with reopen(Path(folder), limits, agreed=agreed, desk=desk) as opened:
        return search(opened, desk)


def search(run: OpenRun, desk: Desk, max_autotune: bool = False) -> SessionResult:
    """One session, and for reference what its run could do with library calls."""
    result = run_session(run, desk, max_autotune=max_autotune)
    if result.best is not None:
        judge_in_mode_any(result.view, run.worker, desk.notify)
    return result
