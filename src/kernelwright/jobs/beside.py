"""Times the confirmed best kernel of a run, once: beside PyTorch where there is a GPU, and beside the run's first
kernel on a second GPU where there is one.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.errors import RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.worker import Notify
from kernelwright.model import BenchReport, Candidate
from kernelwright.report.framework import BENCH, BEST, ELSEWHERE, START, SideMeasurement, read_side, write_side
from kernelwright.report.view import RunView


def measure_beside(view: RunView, worker: Worker, *, max_autotune: bool, notify: Notify) -> None:
    """Write the measurement into the run's folder, unless it holds one of this kernel.

    max_autotune: measure `torch.compile` in that mode, too (slow); done again where an earlier measurement had it. A
    measurement that fails leaves the run without one, and `notify` says why.
    """
    candidate = view.best.proposal.candidate if view.best is not None else None
    if candidate is None or worker.environment().device is None:
        return
    known = read_side(view.folder)
    tuned = known is not None and any(case.row("compile_max_autotune") for case in known.report.cases)
    if known is not None and known.candidate == candidate.id and (tuned or not max_autotune):
        return

    def bench(cases: tuple[str, ...]) -> BenchReport:
        return worker.bench({BEST: candidate}, cases, max_autotune or tuned, True)

    _measure(view, candidate, bench, BENCH, "beside PyTorch", notify)


def measure_elsewhere(view: RunView, worker: Worker, *, notify: Notify) -> None:
    """Write the measurement into the run's folder, unless it holds one of this kernel."""
    best = view.best.proposal.candidate if view.best is not None and view.best is not view.seed else None
    start = view.seed.proposal.candidate if view.seed is not None else None
    other = worker.elsewhere() if best is not None and start is not None else None
    known = read_side(view.folder, ELSEWHERE)
    if best is None or start is None or other is None or (known is not None and known.candidate == best.id):
        return

    def bench(cases: tuple[str, ...]) -> BenchReport:
        return other.bench({BEST: best, START: start}, cases, against=START)

    _measure(view, best, bench, ELSEWHERE, "on another GPU", notify)


def _measure(
    view: RunView, best: Candidate, bench: Callable[[tuple[str, ...]], BenchReport], file: str, where: str,
    notify: Notify,
) -> None:  # fmt: skip
    """bench: takes the timed cases. where: beside what, or on which machine."""
    problem = view.info.problem
    notify(f"{problem.name}: measuring the best {where}")
    try:
        report = bench(tuple(one.case.name for one in problem.cases if one.case.timed))
    except (RequestError, WorkerError) as error:
        notify(f"{problem.name}: not measured {where}: {error}")
        return
    write_side(view.folder, SideMeasurement(candidate=best.id, report=report), file)
