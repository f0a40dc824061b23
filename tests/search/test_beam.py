"""The beam: who becomes a parent, when a round begins, and what happens to a child that fails."""

from __future__ import annotations

import pytest

from fakes import STARTER, evaluation_of
from kernelwright.model import Candidate, Evaluation, Operator, Proposal, Request, Status, Trial
from kernelwright.search import build_strategy
from kernelwright.search.protocol import Strategy


def trial(request: Request, block: int = 64, evaluation: Evaluation | None = None) -> Trial:
    candidate = request.candidate or Candidate(source=f"BLOCK = {block}\n# {request.number}\n")
    evaluation = evaluation or evaluation_of(candidate, "search")
    return Trial(request=request, proposal=Proposal(author="x", candidate=candidate), evaluation=evaluation)


def ask_all(strategy: Strategy) -> list[Request]:
    requests = []
    while (request := strategy.ask()) is not None:
        requests.append(request)
    return requests


def begun(**options: int) -> Strategy:
    strategy = build_strategy("beam", STARTER, 0, options)
    (seed,) = ask_all(strategy)
    strategy.tell(trial(seed))
    return strategy


FAILED = Evaluation(status=Status.COMPILE_ERROR, reason="no such thing as tl.fly")


def test_the_first_round_gives_all_children_to_the_only_parent() -> None:
    children = ask_all(begun(width=3, expand=2))
    assert [child.parents for child in children] == [(0,)] * 6
    assert {child.operator for child in children} == {Operator.IMPROVE}
    assert {child.round for child in children} == {1}


def test_a_round_begins_only_when_the_one_before_is_told() -> None:
    strategy = begun(width=3)
    children = ask_all(strategy)
    for child in children[:-1]:
        strategy.tell(trial(child, 128))
        assert strategy.ask() is None
    strategy.tell(trial(children[-1], 128))
    assert {child.round for child in ask_all(strategy)} == {2}


def test_a_round_planned_ahead_begins_with_as_many_requests_open() -> None:
    strategy = begun(width=4, ahead=2)
    children = ask_all(strategy)
    assert len(children) == 4
    strategy.tell(trial(children[0], 128))
    assert strategy.ask() is None, "three are open"
    strategy.tell(trial(children[1], 512))
    later = ask_all(strategy)
    assert [child.parents for child in later] == [(2,), (1,), (0,), (2,)]
    assert {child.round for child in later} == {2}


def test_no_round_is_planned_ahead_of_the_first_kernel_that_passes() -> None:
    strategy = build_strategy("beam", STARTER, 0, {"ahead": 8})
    assert len(ask_all(strategy)) == 1


def test_the_next_round_improves_the_best_kernels_best_first() -> None:
    strategy = begun(width=3)
    children = ask_all(strategy)
    for child, block in zip(children, (128, 512, 256), strict=True):
        strategy.tell(trial(child, block))
    assert [child.parents for child in ask_all(strategy)] == [(2,), (3,), (1,)]


def test_kernels_that_compile_to_the_same_code_are_one_parent() -> None:
    strategy = begun(width=4)
    for child in ask_all(strategy):
        strategy.tell(trial(child, 512))
    assert [child.parents for child in ask_all(strategy)] == [(1,), (0,), (1,), (0,)]


def test_kernels_without_compiled_code_are_told_apart_by_their_source() -> None:
    strategy = begun(width=2)
    for child in ask_all(strategy):
        strategy.tell(trial(child, evaluation=Evaluation(status=Status.PASSED, score_us=10.0)))
    assert [child.parents for child in ask_all(strategy)] == [(1,), (2,)]


def test_a_good_kernel_of_an_early_round_stays_a_parent() -> None:
    strategy = begun(width=2)
    for child in ask_all(strategy):
        strategy.tell(trial(child, 8))
    assert [child.parents for child in ask_all(strategy)] == [(0,), (1,)]


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.PASSED, Status.NOT_VERIFIED)])
def test_a_failed_child_is_repaired_at_most_twice_and_then_left(status: Status) -> None:
    strategy = begun(width=1)
    (child,) = ask_all(strategy)
    failed = Evaluation(status=status, reason="no")
    strategy.tell(trial(child, evaluation=failed))
    (repair,) = ask_all(strategy)
    assert repair == Request(number=2, operator=Operator.REPAIR, round=1, parents=(1, 0))
    strategy.tell(trial(repair, evaluation=failed))
    (second,) = ask_all(strategy)
    assert second == Request(number=3, operator=Operator.REPAIR, round=1, parents=(2, 0))
    strategy.tell(trial(second, evaluation=failed))
    (next_child,) = ask_all(strategy)
    assert next_child == Request(number=4, operator=Operator.IMPROVE, round=2, parents=(0,))


def test_a_repair_starts_at_once_but_the_next_round_waits_for_it() -> None:
    strategy = begun(width=2, repairs=1)
    one, two = ask_all(strategy)
    strategy.tell(trial(one, evaluation=FAILED))
    (repair,) = ask_all(strategy)
    strategy.tell(trial(two, 128))
    assert strategy.ask() is None
    strategy.tell(trial(repair, 512))
    assert [child.parents for child in ask_all(strategy)] == [(repair.number,), (two.number,)]


def test_what_cannot_be_judged_here_and_what_has_no_candidate_is_not_repaired() -> None:
    strategy = begun(width=2)
    one, two = ask_all(strategy)
    strategy.tell(trial(one, evaluation=Evaluation(status=Status.NOT_VERIFIED, reason="bf16")))
    strategy.tell(Trial(request=two, proposal=Proposal(author="x", error="no code in the reply")))
    assert {request.operator for request in ask_all(strategy)} == {Operator.IMPROVE}


def test_a_starter_that_fails_is_repaired_without_a_parent() -> None:
    strategy = build_strategy("beam", STARTER, 0)
    (seed,) = ask_all(strategy)
    strategy.tell(trial(seed, evaluation=FAILED))
    (repair,) = ask_all(strategy)
    assert repair == Request(number=1, operator=Operator.REPAIR, round=0, parents=(0,))
    strategy.tell(trial(repair, 128))
    assert {child.parents for child in ask_all(strategy)} == {(1,)}


def test_a_beam_ends_after_its_rounds_and_repairs_still_finish() -> None:
    strategy = begun(width=2, rounds=1, repairs=1)
    one, two = ask_all(strategy)
    strategy.tell(trial(one, 128))
    strategy.tell(trial(two, evaluation=FAILED))
    (repair,) = ask_all(strategy)
    strategy.tell(trial(repair, 256))
    assert ask_all(strategy) == []


def test_a_beam_gives_up_only_after_its_patience() -> None:
    strategy = begun(width=2, patience=3)
    error = Proposal(author="x", error="no code in the reply")
    for number in (1, 2):
        children = ask_all(strategy)
        assert {child.round for child in children} == {number}
        for child in children:
            strategy.tell(Trial(request=child, proposal=error))
    assert ask_all(strategy) == []
