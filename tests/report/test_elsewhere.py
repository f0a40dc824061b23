"""What another GPU says of a run's best kernel: measured once, beside what the search started from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes import ENVIRONMENT, FakeWorker
from kernelwright.errors import WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.beside import measure_elsewhere
from kernelwright.model import BenchCase, BenchReport, Implementation, Status
from kernelwright.report.framework import BEST, ELSEWHERE, START, SideMeasurement, read_side, write_side
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from samples import passed, run_view, short_run


def finished(folder: Path) -> RunView:
    return replace(run_view(short_run(True), confirmed={4: passed(26.0, True)}, device="H200"), folder=folder)


THERE = msgspec.structs.replace(ENVIRONMENT, gpu="GPU-91c2")


def report(ratio: float | None) -> BenchReport:
    status = Status.PASSED if ratio is not None else Status.WRONG
    interval = None if ratio is None else (0.99 * ratio, 1.01 * ratio)
    best = Implementation(name=BEST, status=status, speedup=ratio, speedup_ci95=interval, reason="" if ratio else "off")
    start = Implementation(name=START, status=Status.PASSED, speedup=1.0, speedup_ci95=(1.0, 1.0))
    case = BenchCase(case="square", held_out=False, bound_us=1.0, bound_by="bytes", implementations=(best, start))
    return BenchReport(problem="softmax", environment=THERE, cases=(case,))


class Other(FakeWorker):
    """The other GPU. asked: what it had to bench."""

    asked: tuple[Any, ...] = ()
    error: WorkerError | None = None

    def bench(self, candidates, cases=(), max_autotune=False, compile=True, against=None):  # type: ignore[no-untyped-def]
        if self.error is not None:
            raise self.error
        self.asked = (*self.asked, (list(candidates), cases, against))
        return report(1.5)


class OfTwo(FakeWorker):
    """A worker that has another one."""

    other: Other

    def elsewhere(self) -> Worker:  # type: ignore[override]
        return self.other


def of_two(error: WorkerError | None = None) -> OfTwo:
    worker = OfTwo()
    worker.other = Other()
    worker.other.error = error
    return worker


def said(view: RunView, ratio: float | None, candidate: str | None = None) -> str:
    assert view.best is not None
    assert view.best.proposal.candidate is not None
    measured = SideMeasurement(candidate=candidate or view.best.proposal.candidate.id, report=report(ratio))
    write_side(view.folder, measured, ELSEWHERE)
    return verdict_text(view)


def test_the_best_is_measured_once_beside_the_start_on_another_gpu(tmp_path: Path) -> None:
    view, worker = finished(tmp_path), of_two()
    for _ in range(2):
        measure_elsewhere(view, worker, notify=lambda line: None)
    assert worker.other.asked == (([BEST, START], ("square",), START),)
    assert "on another GPU (GPU-91c2) 1.50x as fast as the start (95 %: 1.48 to 1.52)" in verdict_text(view)


def test_with_one_gpu_nothing_is_asked(tmp_path: Path) -> None:
    measure_elsewhere(finished(tmp_path), FakeWorker(), notify=pytest.fail)
    assert read_side(tmp_path, ELSEWHERE) is None


def test_a_gain_that_does_not_show_there_is_said(tmp_path: Path) -> None:
    view = finished(tmp_path)
    assert "(95 %: 0.99 to 1.01): the gain does not show there" in said(view, 1.0)
    assert "does not show" not in said(view, 1.1)
    assert "it was not timed beside the start: off" in said(view, None)


def test_a_measurement_of_another_kernel_says_nothing(tmp_path: Path) -> None:
    assert "another GPU" not in said(finished(tmp_path), 1.5, candidate="another")


def test_a_measurement_that_fails_is_said_and_loses_nothing(tmp_path: Path) -> None:
    notes: list[str] = []
    measure_elsewhere(finished(tmp_path), of_two(WorkerError("it is gone")), notify=notes.append)
    assert notes[-1] == "softmax: not measured on another GPU: it is gone"
    assert read_side(tmp_path, ELSEWHERE) is None
