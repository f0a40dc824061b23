"""When a trial is judged: equal tuning effort, repairs, and what counts as a gain of an operator."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec
import pytest

from fakes import STARTER, evaluation_of
from kernelwright.model import (
    Candidate,
    CaseResult,
    Evaluation,
    Operator,
    Proposal,
    Request,
    Scalar,
    Status,
    Timing,
    Trial,
)
from kernelwright.search import build_strategy
from kernelwright.search.judging import Judging
from kernelwright.search.portfolio import Portfolio
from kernelwright.search.protocol import Step, Strategy
from kernelwright.search.rounds import Rounds

FAILED = Evaluation(status=Status.COMPILE_ERROR, reason="no")


def timed(score_us: float, compiled: str, half_us: float = 0.1) -> Evaluation:
    timing = Timing(kind="measured", median_us=score_us, ci95_us=(score_us - half_us, score_us + half_us))
    return Evaluation(
        status=Status.PASSED,
        results=(CaseResult(case="big", status=Status.PASSED, timing=timing),),
        score_us=score_us,
        timing_kind="measured",
        compiled=compiled,
    )


def told(request: Request, candidate: Candidate | None, evaluation: Evaluation | None = None) -> Trial:
    error = None if candidate else "every config of this source was tried"
    return Trial(
        request=request,
        proposal=Proposal(author="x", candidate=candidate, error=error),
        evaluation=evaluation or (evaluation_of(candidate, "search") if candidate else None),
    )


def asked(strategy: Strategy) -> Request:
    request = strategy.ask()
    assert request is not None
    return request


def begun(**options: Scalar) -> Rounds:
    strategy = build_strategy("greedy", STARTER, 0, options)
    assert isinstance(strategy, Rounds)
    return strategy


def answer(strategy: Strategy, score_us: float, half_us: float = 0.1) -> Request:
    """Ask, and tell a trial of that time; a tuning keeps the source of what it tunes."""
    request = asked(strategy)
    source = "shared" if request.operator is Operator.TUNE else f"source of {request.number}"
    candidate = request.candidate or Candidate(source=source, config={"BLOCK": request.number})
    strategy.tell(told(request, candidate, timed(score_us, str(request.number), half_us)))
    return request


def test_a_new_structure_is_tuned_as_often_as_its_parent_was_before_the_next_round() -> None:
    strategy = begun(tuning=3)
    seen = [answer(strategy, 100 - step) for step in range(12)]
    assert [(one.operator, one.round) for one in seen[:8]] == [
        (Operator.SEED, 0), *[(Operator.TUNE, 0)] * 3, (Operator.IMPROVE, 1), *[(Operator.TUNE, 1)] * 3,
    ]  # fmt: skip
    assert Counter(one.round for one in seen) == {0: 4, 1: 4, 2: 4}


def test_the_portfolio_tunes_a_kernel_a_limited_number_of_times_and_never_where_tuning_is_off() -> None:
    for tuning in (0, 2):
        strategy, tunings = begun(tuning=tuning, operators="portfolio", patience=1000), 0
        for _ in range(200):
            request = asked(strategy)
            tunings += request.operator is Operator.TUNE
            # Every tuning gains, and nothing else passes.
            passes = request.operator is Operator.TUNE or request.number == 0
            candidate = Candidate(source="shared", config={"BLOCK": request.number})
            found = timed(1000.0 - request.number, str(request.number)) if passes else FAILED
            strategy.tell(told(request, candidate, found))
        assert tunings == 4 * tuning


def estimated(score_us: float, compiled: str) -> Evaluation:
    return msgspec.structs.replace(timed(score_us, compiled), timing_kind="estimate")


@pytest.mark.parametrize(
    ("scores", "tunings"), [((100.0, 100.2), 1), ((100.0, 90.0, 89.9), 2), ((100.0, 90.0, 80.0, 70.0), 3)]
)
def test_tuning_ends_where_a_config_does_not_move_the_estimate(scores: tuple[float, ...], tunings: int) -> None:
    strategy, asked_for = begun(tuning=3), list[Operator]()
    for number, score_us in enumerate((*scores, 60.0)):
        request = asked(strategy)
        asked_for.append(request.operator)
        candidate = Candidate(source="shared", config={"BLOCK": number})
        strategy.tell(told(request, candidate, estimated(score_us, str(number))))
    assert asked_for == [Operator.SEED, *[Operator.TUNE] * tunings, Operator.IMPROVE][: len(scores) + 1]


def test_estimates_alone_do_not_decide_which_structure_is_continued() -> None:
    """Each kernel that passes is continued before one of a lower estimate is continued again."""
    parents = {}
    for kind in ("estimate", "measured"):
        strategy, found = begun(), []
        for number, score_us in enumerate((10.0, 12.0, 20.0, None, None, 9.0)):
            request = asked(strategy)
            found.append(request.parents)
            passes = score_us is not None
            evaluation = timed(score_us, str(number)) if passes else Evaluation(status=Status.NOT_VERIFIED)
            evaluation = msgspec.structs.replace(evaluation, timing_kind=kind if passes else None)
            strategy.tell(told(request, Candidate(source=f"source of {number}"), evaluation))
        parents[kind] = found
    assert parents["measured"] == [(), (0,), (0,), (0,), (0,), (0,)]
    assert parents["estimate"] == [(), (0,), (1,), (2,), (0,), (1,)]


def test_tuning_goes_on_from_the_best_config_so_far() -> None:
    strategy = begun(tuning=3)
    scores = (100.0, 90.0, 95.0, 80.0)
    parents = [answer(strategy, score).parents for score in scores]
    assert parents == [(), (0,), (1,), (1,)]
    assert asked(strategy).parents == (3,), "the next child is made from the tuned parent"


def test_a_tuning_that_fails_is_not_repaired_and_one_without_a_config_left_ends_it() -> None:
    strategy = begun(tuning=3)
    answer(strategy, 100)
    strategy.tell(told(asked(strategy), Candidate(source=STARTER.source, config={"BLOCK": 1}), FAILED))
    tuning = asked(strategy)
    assert (tuning.operator, tuning.parents) == (Operator.TUNE, (0,))
    strategy.tell(told(tuning, None))
    assert asked(strategy).operator is Operator.IMPROVE


def test_a_structure_gains_by_its_tuned_time_against_the_tuned_time_of_its_parent() -> None:
    def gained(child_scores: tuple[float, float]) -> float:
        strategy = begun(tuning=1)
        for score in (100, 50, *child_scores):
            answer(strategy, score)
        return strategy.portfolio.index(Operator.IMPROVE)

    assert gained((70, 40)) > gained((70, 60)), "faster than the parent only once both are tuned"
    assert gained((70, 60)) == gained((120, 110))


def test_a_structure_with_an_estimate_gains_by_passing() -> None:
    def gained(kind: Literal["measured", "estimate"]) -> float:
        strategy = begun()
        for number, score_us in enumerate((100.0, 120.0)):
            evaluation = msgspec.structs.replace(timed(score_us, str(number)), timing_kind=kind)
            strategy.tell(told(asked(strategy), Candidate(source=f"source of {number}"), evaluation))
        return strategy.portfolio.index(Operator.IMPROVE)

    assert gained("estimate") > gained("measured"), "120 is no gain over 100, and an estimate of 120 may be one"


def test_intervals_that_overlap_are_no_gain() -> None:
    def gained(half_us: float) -> float:
        strategy = begun()
        answer(strategy, 100, half_us)
        answer(strategy, 95, half_us)
        return strategy.portfolio.index(Operator.IMPROVE)

    assert gained(half_us=1) > gained(half_us=4)


def test_a_repair_that_passes_is_credited_to_repair_and_not_to_what_failed() -> None:
    strategy = begun(operators="portfolio")
    answer(strategy, 100)
    child = asked(strategy)
    strategy.tell(told(child, Candidate(source="broken"), FAILED))
    before = strategy.portfolio.index(Operator.IMPROVE), strategy.portfolio.index(Operator.REPAIR)
    assert answer(strategy, 50).operator is Operator.REPAIR
    assert strategy.portfolio.index(Operator.REPAIR) > before[1]
    assert strategy.portfolio.index(Operator.IMPROVE) == before[0]


def test_failures_are_no_longer_repaired_once_repairs_have_gained_least() -> None:
    strategy = begun(operators="portfolio", patience=99)
    answer(strategy, 100)
    operators, best = [], 100.0
    for number in range(40):
        request = asked(strategy)
        operators.append(request.operator)
        fails = request.operator is Operator.REPAIR or number % 3 == 0
        best -= 0 if fails else 1
        evaluation = FAILED if fails else timed(best, str(number))
        strategy.tell(told(request, Candidate(source=f"{number}", config={"B": number}), evaluation))
    assert Operator.REPAIR in operators[:4]
    assert operators[20:].count(Operator.REPAIR) < operators[:20].count(Operator.REPAIR)


@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_child_of_a_kernel_that_was_tuned_more_often_is_tuned_as_often_before_it_is_judged(more: int) -> None:
    """tuning: 2 is the least; `more` tunings of the parent follow after it was judged, as strategies ask for them."""
    judging = Judging(Portfolio(), repairs=0, tuning=2, selective=False)

    def told_steps(number: int, operator: Operator, parents: tuple[int, ...], source: str) -> Step | None:
        candidate = Candidate(source=source, config={"B": number})
        request = Request(number=number, operator=operator, round=0, parents=parents)
        return judging.tell(told(request, candidate, timed(1000.0 - number, str(number))))

    step, number = told_steps(0, Operator.SEED, (), "parent"), 0
    while step is not None or number < 2 + more:
        number += 1
        step = told_steps(number, Operator.TUNE, (number - 1,), "parent")
    step, tunings = told_steps(number + 1, Operator.IMPROVE, (number,), "child"), 0
    while step is not None:
        tunings += 1
        step = told_steps(number + 1 + tunings, Operator.TUNE, step.parents, "child")
    assert tunings == 2 + more


@pytest.mark.parametrize("name", ["beam", "evolve", "greedy"])
def test_structures_are_judged_after_equal_effort_in_every_strategy(name: str) -> None:
    """Each structure of an ended round had as many tunings as any of its parents, those of tuned survivors included."""
    strategy = build_strategy(name, STARTER, 0, {"tuning": 2, "operators": "portfolio"})
    had: dict[int, int] = {}
    line: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    """Of each structure, how often each of its parents had been tuned when it was asked for."""
    asks: list[Request] = []
    for _ in range(80):
        request = asked(strategy)
        asks.append(request)
        if request.operator is Operator.TUNE:
            line[request.number] = line[request.parents[0]]
            had[line[request.number]] += 1
        else:
            if request.round > 0 and request.operator is not Operator.REPAIR:
                assert all(had[line[parent]] >= 2 for parent in request.parents)
            before[request.number] = [had[line[parent]] for parent in request.parents]
            line[request.number], had[request.number] = request.number, 0
        candidate = request.candidate or Candidate(source=f"{request.number}", config={"B": request.number})
        strategy.tell(told(request, candidate, timed(1000.0 - request.number, str(request.number))))
    last = max(request.round for request in asks)
    for request in asks:
        if 0 < request.round < last and request.operator is not Operator.TUNE:
            assert had[request.number] >= max(2, *before[request.number]), (request, before[request.number])


def test_another_spelling_that_compiles_to_known_code_is_no_new_structure_and_not_tuned() -> None:
    strategy = begun(tuning=2)
    for score in (100, 90, 95):
        answer(strategy, score)
    child = asked(strategy)
    strategy.tell(told(child, Candidate(source="spelled otherwise"), timed(89.0, "0")))
    following = asked(strategy)
    assert (following.operator, following.round) == (Operator.IMPROVE, 2)
