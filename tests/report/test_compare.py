"""Two runs side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kernelwright.report.compare import compare_runs, compare_text
from kernelwright.report.view import RunView
from samples import passed, run_view, short_run


def named(name: str, best_us: float = 26.0, device: str | None = "Fake GPU") -> RunView:
    trials = short_run(measured=device is not None)
    view = run_view(trials, {4: passed(best_us, measured=device is not None)}, device=device)
    return replace(view, folder=Path("runs") / name, finished_s={4: 7.0})


def test_the_faster_kernel_is_named_with_what_each_run_took_to_find_it() -> None:
    found = compare_runs(named("old", 26.0), named("new", 20.0))
    assert found.ratio == pytest.approx(1.3)
    assert (found.first.time_us, found.second.time_us) == (26.0, 20.0)
    assert [(pair.case, pair.ratio) for pair in found.cases] == [("square", pytest.approx(1.3))]
    text = compare_text(found)
    assert text.startswith("new's kernel is 1.30x as fast as old's\n")
    assert "time to best" in text
    assert "7.0 s" in text
    assert compare_text(compare_runs(named("new", 20.0), named("old", 26.0))).startswith("new's kernel is 1.30x")


def test_the_same_figures_are_a_tie() -> None:
    found = compare_runs(named("one"), named("two"))
    assert found.overlap is True
    assert compare_text(found).startswith("a tie: 1.00x")


def test_estimates_stay_estimates_and_form_no_ratio() -> None:
    found = compare_runs(named("one", device=None), named("two", 20.0, device=None))
    assert (found.ratio, found.overlap, found.first.speedup, found.first.fraction_of_bound) == (None, None, None, None)
    assert [pair.ratio for pair in found.cases] == [None]
    text = compare_text(found)
    assert text.startswith("no ratio: without a GPU nothing was timed")
    assert "verified again" in text
    assert "confirmed" not in text
    assert "26.00 µs (estimate)" in text
    assert "case (µs, estimate)" in text


def test_two_devices_or_two_problems_are_not_set_against_each_other() -> None:
    here, there = named("here"), named("there", device=None)
    found = compare_runs(here, there)
    assert (found.ratio, found.overlap, found.cases) == (None, None, ())
    assert "not comparable: one ran on Fake GPU (sm_90), the other on no GPU (sm_90)" in compare_text(found)
    problem = msgspec.structs.replace(here.info.problem, source="# another text\n")
    other = replace(here, info=msgspec.structs.replace(here.info, problem=problem))
    assert compare_runs(here, other).not_comparable == ("the text of softmax differs",)
    renamed = replace(here, info=msgspec.structs.replace(here.info, problem=msgspec.structs.replace(problem, name="x")))
    assert compare_runs(here, renamed).not_comparable == ("softmax and x are two problems",)


def test_figures_of_two_library_modes_are_not_set_against_each_other() -> None:
    none = named("none")
    problem = msgspec.structs.replace(none.info.problem, library="any")
    steps = replace(named("any", 20.0), info=msgspec.structs.replace(none.info, problem=problem))
    found = compare_runs(none, steps)
    assert (found.ratio, found.overlap, found.cases) == (None, None, ())
    assert found.not_comparable == ("one allows LIBRARY = 'none', the other 'any'",)
    assert any(line.split() == ["library", "steps", "none", "any"] for line in compare_text(found).splitlines())
    assert compare_runs(steps, steps).not_comparable == ()


def test_a_run_without_a_kernel_compares_to_nothing() -> None:
    empty = replace(named("empty"), trials=(), confirmed={})
    found = compare_runs(named("one"), empty)
    assert found.ratio is None
    assert compare_text(found).startswith("nothing to compare")
    assert [pair.second_us for pair in found.cases] == [None]


def test_an_unconfirmed_kernel_is_called_so() -> None:
    unconfirmed = replace(named("fresh"), confirmed={})
    text = compare_text(compare_runs(unconfirmed, named("old", 30.0)))
    assert text.startswith("fresh's kernel is 1.20x as fast as old's; not both are confirmed")
    assert "trial 4, not confirmed" in text


def test_a_run_that_found_nothing_better_took_no_time_to_find_it() -> None:
    seed = short_run()[0]
    view = replace(named("idle"), trials=(seed,), confirmed={}, finished_s={0: 5.0})
    side = compare_runs(view, named("new", device=None)).first
    assert (side.best, side.is_starter, side.to_best_s) == (0, True, None)
    assert "trial 0, the starter" in compare_text(compare_runs(view, named("new", device=None)))
