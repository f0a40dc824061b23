"""Searches for a faster kernel and verifies it: one session of a new run, or of one that is resumed.

result = optimize("softmax", trials=24, start_worker=local_worker, notify=print)
print(result.verdict, result.folder)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.jobs.consent import Ask, refuse
from kernelwright.jobs.display import Display, lines_to
from kernelwright.jobs.in_mode_any import judge_in_mode_any
from kernelwright.jobs.runs import begin, new_run, on_lanes, reopen
from kernelwright.jobs.session import SessionResult, run_session
from kernelwright.jobs.settings import NO_FILE, NO_LIMITS, NO_OPTIONS, RunOptions, SettingsFile, read_options
from kernelwright.jobs.worker import PLACES, Notify, Places, StartWorker
from kernelwright.model import Budget


def optimize(
    problem: str | Path | None = None,
    *,
    settings: SettingsFile = NO_FILE,
    start_worker: StartWorker,
    places: Places = PLACES,
    notify: Notify,
    display: Display | None = None,
    ask: Ask = refuse,
    max_autotune: bool = False,
    **options: Any,
) -> SessionResult:
    """Begin a run, search until its budget is spent or every open request waits for a reply, and confirm the best.

    problem: a file, a folder with `problem.py`, or a name in the gallery; None: the settings file's. settings: options
    from a file (`read_settings`), used where none is given here; the user must consent to some of them, by `ask`.
    options: fields of `RunOptions`; `gpus` and `workers` take the place of `start_worker`. display: how progress is
    shown; None: as lines to `notify`. max_autotune: measure that mode of torch.compile beside the best kernel, too
    (slow).

    An interrupt ends the session in order (`StopReason.INTERRUPTED`). Raises `RequestError`, `ConfigError` and
    `ProblemError` for the request, `MachineError` where torch or Triton is missing, `ProviderError` and `WorkerError`
    where the search cannot continue; the run can then be resumed. Raises `NothingToWin` where there is no starter and
    what torch.compile generates is a library call alone that is near its bound.
    """
    given = read_options({**options, "problem": None if problem is None else str(problem)})
    run = new_run(given, settings, start_worker=start_worker, places=places, ask=ask, notify=notify)
    with begin(run, notify=notify) as (journal, worker, budget):
        notify(f"run folder: {journal.folder}")
        result = run_session(
            journal, worker, budget, notify=notify, display=display or lines_to(notify), max_autotune=max_autotune
        )
        if result.best is not None:
            judge_in_mode_any(result.view, worker, notify)
        return result


def resume(
    folder: str | Path,
    limits: Budget = NO_LIMITS,
    *,
    agreed: RunOptions = NO_OPTIONS,
    target: str | None = None,
    start_worker: StartWorker,
    places: Places = PLACES,
    notify: Notify,
    display: Display | None = None,
    ask: Ask = refuse,
) -> SessionResult:
    """Continue the run in `folder` with another session.

    limits: in place of the run's own, where given; the run keeps them. agreed: options of the run that the user gives
    again to consent to them, and the lanes of this session (`gpus`, `workers`). target: compile target, None for that
    of the run. Raises `RunFolderError` where the folder holds no run that can be resumed, and the errors of `optimize`.
    """
    start_worker, agreed = on_lanes(start_worker, agreed, places)
    opened = reopen(
        Path(folder), limits, agreed=agreed, target=target, start_worker=start_worker, notify=notify, ask=ask
    )
    with opened as (journal, worker, budget):
        result = run_session(journal, worker, budget, notify=notify, display=display or lines_to(notify))
        if result.best is not None:
            judge_in_mode_any(result.view, worker, notify)
        return result
