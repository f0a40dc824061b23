"""Benches of several problems as one table."""

from __future__ import annotations

import msgspec

from kernelwright.model import BenchCase, BenchReport, BenchSeries, Implementation, Status
from kernelwright.report.series import LIMIT, TIMED, case_cells, our_row, series_text
from samples import environment

EAGER = Implementation(name="eager", status=Status.PASSED, median_us=40.0)
STARTER = Implementation(name="starter", status=Status.PASSED, median_us=50.0, speedup=0.8, verdict="slower")
BEST = Implementation(
    name="best", status=Status.PASSED, median_us=20.0, speedup=2.0, speedup_ci95=(1.98, 2.03), verdict="faster",
    fraction_of_bound=0.8,
)  # fmt: skip


def _case(*rows: Implementation, held_out: bool = False) -> BenchCase:
    return BenchCase(case="square", held_out=held_out, bound_us=16.0, bound_by="bytes", implementations=rows)


def _series(*cases: BenchCase) -> BenchSeries:
    return BenchSeries(reports=(BenchReport(problem="softmax", environment=environment("NVIDIA H200"), cases=cases),))


def test_the_ratio_is_of_the_best_kernel_and_stands_with_interval_and_verdict() -> None:
    cells = dict(zip((*TIMED, *LIMIT), case_cells(_case(EAGER, STARTER, BEST)), strict=True))
    assert cells == {
        "eager": "40", "compile": "-", "starter": "50", "best": "20", "limit": "16", "share": "80 %", "ratio": "2.00x",
        "95 % interval": "1.98 to 2.03", "verdict": "faster",
    }  # fmt: skip


def test_max_autotune_has_a_column_where_it_took_part() -> None:
    tuned = Implementation(name="compile_max_autotune", status=Status.PASSED, median_us=37.5)
    assert "37.5" in series_text(_series(_case(EAGER, tuned, BEST)))
    assert "compile_max_autotune" not in series_text(_series(_case(EAGER, BEST)))


def test_without_a_best_kernel_the_starter_is_compared() -> None:
    row = our_row(_case(EAGER, STARTER))
    assert row is not None
    assert row.name == "starter"
    assert our_row(_case(EAGER)) is None


def test_held_out_cases_have_a_table_of_their_own() -> None:
    timed, held_out, _ = series_text(_series(_case(EAGER, BEST), _case(EAGER, BEST, held_out=True))).split("\n\n")
    assert timed.startswith("timed cases")
    assert held_out.startswith("held-out cases")


def test_problems_that_allow_library_steps_have_tables_of_their_own() -> None:
    (none,) = _series(_case(EAGER, BEST)).reports
    steps = msgspec.structs.replace(none, problem="projection", library="any")
    first, second, _ = series_text(BenchSeries(reports=(steps, none))).split("\n\n")
    assert "projection" not in first
    assert "LIBRARY" not in first
    assert second.startswith("timed cases, device time in µs, cold cache; library steps are allowed: LIBRARY = 'any'")
    assert "softmax" not in second


def test_a_kernel_that_failed_is_named_with_its_reason() -> None:
    wrong = Implementation(name="best", status=Status.WRONG, reason="off by one")
    text = series_text(_series(_case(EAGER, wrong)))
    assert "softmax square best: wrong: off by one" in text
    assert "wrong" in case_cells(_case(EAGER, wrong))


def test_an_estimate_says_so_in_its_cell() -> None:
    guess = Implementation(name="best", status=Status.NOT_VERIFIED, median_us=20.0, kind="estimate")
    assert "20 (estimate)" in case_cells(_case(guess))


def test_a_problem_that_could_not_be_benched_is_named() -> None:
    assert "conv: no GPU memory" in series_text(BenchSeries(reports=(), failures={"conv": "no GPU memory"}))
