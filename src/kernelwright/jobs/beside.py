"""Times the confirmed best of a run beside the framework's own, once for each best, where there is a GPU."""

from __future__ import annotations

from kernelwright.errors import RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.worker import Notify
from kernelwright.model import BenchReport
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


def has_tuned(report: BenchReport) -> bool:
    return any(row.name == "compile_max_autotune" for case in report.cases for row in case.implementations)
