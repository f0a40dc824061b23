"""What all views ask of a run."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from kernelwright.errors import ConfigError
from kernelwright.model import Operator, Request, Status, Timing
from kernelwright.report.convergence import convergence_text
from kernelwright.report.verdict import verdict_sentence, verdict_text
from kernelwright.report.view import share_of_bound, source_of
from samples import BLOCK, case_info, failed, passed, problem_info, run_view, short_run, trial


def test_the_lowest_score_only_leads_until_it_is_confirmed() -> None:
    view = run_view(short_run())
    assert view.leader is not None
    assert view.leader.number == 4
    assert view.best is None


def test_the_best_is_the_lowest_score_among_what_was_confirmed() -> None:
    refused = failed(Status.WRONG, "odd: last row is off")
    view = run_view(short_run(), confirmed={4: refused, 1: passed(31.0)})
    assert view.best is not None
    assert view.best.number == 1


def test_the_starter_needs_no_confirmation_but_a_better_one_comes_first() -> None:
    seed, better = short_run()[0], short_run()[1]
    assert run_view((seed, trial(1, passed(41.0)))).best is seed
    assert run_view((seed, better)).best is None
    assert run_view((seed, better), confirmed={1: failed()}).best is seed


def test_the_starter_does_not_stand_while_requests_are_open() -> None:
    seed = short_run()[0]
    view = replace(run_view((seed,)), open_requests=(Request(number=1, operator=Operator.IMPROVE),))
    assert view.best is None
    assert verdict_text(view).startswith("so far nothing is better than the starter\nsoftmax: 40.00 µs (estimate)")


def test_a_lead_that_its_confirmation_lost_is_refused() -> None:
    trials = short_run()
    view = run_view(trials, confirmed={4: passed(40.5), 1: passed(39.5)})
    assert view.best is trials[1]
    assert view.refused == (trials[4],)


def test_only_the_figure_of_the_confirmation_is_reported() -> None:
    trials = short_run()
    view = run_view(trials, confirmed={1: passed(31.0), 4: failed()})
    confirmed, refused = view.figure(trials[1]), view.figure(trials[4])
    assert confirmed is not None
    assert confirmed.score_us == 31.0
    assert refused is trials[4].evaluation


def test_the_source_of_a_trial_has_its_config_written_in() -> None:
    source = source_of(trial(1, passed(30.0), config={BLOCK: 2048}))
    assert source is not None
    assert "BLOCK=2048" in source
    assert source_of(trial(2, None, error="no code")) is None
    with pytest.raises(ConfigError):
        source_of(trial(3, passed(30.0), config={"OTHER": 1}))


def test_the_share_of_the_bound_counts_timed_cases_only() -> None:
    assert share_of_bound(passed(32.0, measured=True), problem_info().cases) == pytest.approx(0.5)
    assert share_of_bound(passed(32.0), problem_info().cases) is None, "an estimate has none"
    assert share_of_bound(failed(), problem_info().cases) is None


def test_the_share_of_the_bound_leaves_held_out_cases_out_as_the_score_does() -> None:
    evaluation = passed(32.0, measured=True)
    slow = msgspec.structs.replace(evaluation.results[-1], case="odd", timing=Timing(kind="measured", median_us=9e9))
    both = msgspec.structs.replace(evaluation, results=(*evaluation.results, slow))
    assert share_of_bound(both, problem_info().cases) == pytest.approx(0.5)


@pytest.mark.parametrize("reason", [None, "paused", "interrupted"])
def test_while_a_search_is_not_over_the_starter_does_not_stand_yet(reason: str | None) -> None:
    seed = short_run()[:1]
    view = run_view(seed)
    assert view.best is view.seed
    at_work = replace(view, sessions=(replace(view.sessions[0], reason=reason),))
    assert at_work.best is None
    assert verdict_sentence(at_work).startswith("So far nothing is better than the starter: 40.00 µs (estimate)")
    confirmed = replace(at_work, trials=short_run(), confirmed={4: passed(26.0)})
    assert confirmed.best is confirmed.trials[4]


def test_a_case_without_work_has_no_share_of_a_bound() -> None:
    free = case_info("square", 0.0)
    assert share_of_bound(passed(32.0, measured=True), (free,)) is None
    assert share_of_bound(passed(32.0, measured=True), (case_info("square", 16.0),)) == pytest.approx(0.5)


def test_only_a_starter_that_passed_is_called_so_and_a_seed_that_failed_is_no_parent() -> None:
    broken = trial(0, failed(), operator=Operator.SEED, parents=())
    mended = trial(1, passed(40.0, measured=True), operator=Operator.REPAIR, parents=(0,))
    better = trial(2, passed(30.0, measured=True), parents=(1,))
    for trials, name in (((broken, mended, better), "first kernel"), (short_run(measured=True), "starter")):
        view = run_view(trials)
        assert view.seed_name == name
        assert f"as fast as the {name}" in verdict_text(view)
        assert f"as fast as the {name}" in convergence_text(view)
    assert run_view((broken, mended, better)).lineage(better) == [1, 2]
