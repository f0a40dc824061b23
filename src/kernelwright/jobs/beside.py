"""Times the confirmed best kernel of a run, once: beside PyTorch where there is a GPU, and beside the run's first
kernel on a second GPU where there is one.
"""

from __future__ import annotations

from kernelwright.errors import RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.worker import Notify
from kernelwright.model import BenchReport
from kernelwright.report.elsewhere import START, Repeated, read_repeated, write_repeated
from kernelwright.report.framework import BEST, Measured, read_measured, write_measured
from kernelwright.report.view import RunView


def measure_beside(view: RunView, worker: Worker, *, max_autotune: bool, notify: Notify) -> None:
    """Write the measurement into the run's folder, unless it holds one of this kernel.

    max_autotune: measure `torch.compile` in that mode, too (slow); done again where an earlier measurement had it. A
    measurement that fails leaves the run without one, and `notify` says why.
    """
    candidate = view.best.proposal.candidate if view.best is not None else None
    if candidate is None or worker.environment().device is None:
        return
    known = read_measured(view.folder)
    tuned = known is not None and has_tuned(known.report)
    if known is not None and known.candidate == candidate.id and (tuned or not max_autotune):
        return
    notify(f"{view.info.problem.name}: measuring the best beside PyTorch")
    cases = tuple(one.case.name for one in view.info.problem.cases if one.case.timed)
    try:
        report = worker.bench({BEST: candidate}, cases, max_autotune or tuned, True)
    except (RequestError, WorkerError) as error:
        notify(f"{view.info.problem.name}: not measured beside PyTorch: {error}")
        return
    write_measured(view.folder, Measured(candidate=candidate.id, report=report))


def measure_elsewhere(view: RunView, worker: Worker, *, notify: Notify) -> None:
    """Write the measurement into the run's folder, unless it holds one of this kernel. One that fails leaves the run
    without, and `notify` says why."""
    best = view.best.proposal.candidate if view.best is not None and view.best is not view.seed else None
    start = view.seed.proposal.candidate if view.seed is not None else None
    other = worker.elsewhere() if best is not None and start is not None else None
    known = read_repeated(view.folder)
    if best is None or start is None or other is None or (known is not None and known.candidate == best.id):
        return
    notify(f"{view.info.problem.name}: measuring the best on another GPU")
    cases = tuple(one.case.name for one in view.info.problem.cases if one.case.timed)
    try:
        report = other.bench({BEST: best, START: start}, cases, against=START)
    except (RequestError, WorkerError) as error:
        notify(f"{view.info.problem.name}: not measured on another GPU: {error}")
        return
    write_repeated(view.folder, Repeated(candidate=best.id, report=report))


def has_tuned(report: BenchReport) -> bool:
    return any(row.name == "compile_max_autotune" for case in report.cases for row in case.implementations)
