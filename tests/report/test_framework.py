"""The best kernel of a run beside PyTorch: measured once, said first, and never of another kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes import ENVIRONMENT, FakeWorker
from kernelwright.errors import WorkerError
from kernelwright.jobs.beside import measure_beside
from kernelwright.model import BenchCase, BenchReport, Implementation, Status
from kernelwright.report.content import cases_section, times_section
from kernelwright.report.framework import SideMeasurement, against_framework, read_side, write_side
from kernelwright.report.plots.convergence import search_of
from kernelwright.report.tree import tree_of
from kernelwright.report.verdict import verdict_sentence, verdict_text
from kernelwright.report.view import RunView
from samples import passed, run_view, short_run

ROWS = {"eager": 100.0, "compile": 52.0, "best": 26.0}


def report(ratio: float = 2.0, rows: dict[str, float] = ROWS) -> BenchReport:
    def row(name: str, time_us: float) -> Implementation:
        ours = name == "best"
        return Implementation(
            name=name, status=Status.PASSED, median_us=time_us, verdict="faster" if ours else None,
            speedup=ratio if ours else None, speedup_ci95=(ratio - 0.02, ratio + 0.02) if ours else None,
        )  # fmt: skip

    case = BenchCase(
        case="square", held_out=False, bound_us=10, bound_by="bytes", noise_floor=0.005,
        implementations=tuple(row(name, time_us) for name, time_us in rows.items()),
    )  # fmt: skip
    return BenchReport(problem="softmax", environment=ENVIRONMENT, cases=(case,))


def finished(folder: Path, measured: bool = True) -> RunView:
    view = run_view(short_run(measured), confirmed={4: passed(26.0, measured)}, device="H200" if measured else None)
    return replace(view, folder=folder)


def keep(view: RunView, found: BenchReport, candidate: str | None = None) -> None:
    assert view.best is not None
    assert view.best.proposal.candidate is not None
    write_side(view.folder, SideMeasurement(candidate=candidate or view.best.proposal.candidate.id, report=found))


def test_the_ratio_to_the_fastest_of_pytorch_comes_first_and_the_starter_second(tmp_path: Path) -> None:
    view = finished(tmp_path)
    keep(view, report())
    assert verdict_sentence(view).startswith(
        "softmax now takes 26.00 µs, 2.00x as fast as torch.compile (95 %: 1.98 to 2.02), "
        "1.54x as fast as the starter's 40.00 µs, 62 % of the bound"
    )
    times = times_section(view)
    assert times is not None
    assert [dict(zip(times.grid.header, row, strict=True)) for row in times.grid.rows] == [
        {"case": "square", "ours": "26", "eager": "100", "compile": "52", "ratio": "2.00x", "verdict": "faster",
         "bound": "10", "95 % interval": "1.98 to 2.02"}
    ]  # fmt: skip
    assert search_of(view).framework_us == pytest.approx(52.0)


def without(name: str) -> BenchReport:
    """The measurement, in which one row ran out of memory; then there is a ratio only of the others."""
    full = report()
    (case,) = full.cases
    lacks = {"status": Status.RUNTIME_ERROR, "reason": "out of memory", "median_us": None, "speedup": None}
    rows = [msgspec.structs.replace(row, **lacks) if row.name == name else row for row in case.implementations]
    return msgspec.structs.replace(full, cases=(msgspec.structs.replace(case, implementations=tuple(rows)),))


def test_a_row_of_pytorch_without_a_time_is_named_beside_the_ratio_to_the_other(tmp_path: Path) -> None:
    view = finished(tmp_path)
    keep(view, without("eager"))
    assert "2.00x as fast as torch.compile" in verdict_sentence(view)
    assert "eager PyTorch has no time beside it: out of memory" in verdict_text(view)


def test_why_the_best_was_not_timed_beside_pytorch_is_said(tmp_path: Path) -> None:
    view = finished(tmp_path)
    keep(view, without("best"))
    assert "not timed beside PyTorch in this run (out of memory): the ratio is to" in verdict_text(view)


def test_a_measurement_of_another_kernel_says_nothing(tmp_path: Path) -> None:
    view = finished(tmp_path)
    keep(view, report(), candidate="another")
    assert against_framework(view) is None
    assert "not timed beside PyTorch in this run" in verdict_text(view)
    assert "torch.compile" not in verdict_text(view)


def test_a_kernel_that_is_slower_than_pytorch_is_not_recommended(tmp_path: Path) -> None:
    view = finished(tmp_path)
    keep(view, report(ratio=0.9))
    assert "slower than PyTorch: torch.compile is the better choice" in verdict_text(view)
    keep(view, report(ratio=0.99))
    assert "better choice" not in verdict_text(view)


def test_an_estimate_has_no_ratio_on_the_page_whatever_lies_in_the_folder(tmp_path: Path) -> None:
    view = finished(tmp_path, measured=False)
    keep(view, report())
    times, cases = times_section(view), cases_section(view)
    assert times is None
    assert cases is not None
    assert {"ratio", "of the bound"}.isdisjoint(cases.grid.header)
    assert {node.gain for node in tree_of(view)[0].children} == {""}
    assert "x as fast" not in verdict_text(view)
    assert "confirmed" not in verdict_text(view)


class Counting(FakeWorker):
    """Remembers what it was asked to bench; the framework's max-autotune mode has a row where it was asked for."""

    asked: tuple[Any, ...] = ()

    def bench(self, candidates, cases=(), max_autotune=False, compile=True, against=None):  # type: ignore[no-untyped-def]
        self.asked = (*self.asked, (list(candidates), cases, max_autotune, compile))
        return report(rows=ROWS | ({"compile_max_autotune": 50.0} if max_autotune else {}))


def test_a_best_kernel_is_measured_once_on_the_timed_cases_and_again_only_for_more(tmp_path: Path) -> None:
    view, worker = finished(tmp_path), Counting()
    for max_autotune in (False, False, True, False):
        measure_beside(view, worker, max_autotune=max_autotune, notify=lambda line: None)
    assert worker.asked == ((["best"], ("square",), False, True), (["best"], ("square",), True, True))


def test_another_best_is_measured_as_the_one_before_it(tmp_path: Path) -> None:
    view, worker = finished(tmp_path), Counting()
    keep(view, report(rows=ROWS | {"compile_max_autotune": 50.0}), candidate="another")
    measure_beside(view, worker, max_autotune=False, notify=lambda line: None)
    assert [asked[2] for asked in worker.asked] == [True]


def test_nothing_is_measured_without_a_gpu(tmp_path: Path) -> None:
    worker = Counting(where=msgspec.structs.replace(ENVIRONMENT, device=None))
    measure_beside(finished(tmp_path, measured=False), worker, max_autotune=False, notify=pytest.fail)
    assert worker.asked == ()


def test_a_measurement_that_fails_is_said_and_loses_nothing(tmp_path: Path) -> None:
    class Failing(FakeWorker):
        def bench(self, *words: Any, **named: Any) -> BenchReport:
            raise WorkerError("the bench was lost twice")

    notes: list[str] = []
    measure_beside(finished(tmp_path), Failing(), max_autotune=False, notify=notes.append)
    assert notes[-1] == "softmax: not measured beside PyTorch: the bench was lost twice"
    assert read_side(tmp_path) is None
