"""The convergence table's numbers."""

from __future__ import annotations

from fakes import trial_of
from kernelwright.model import Candidate, Evaluation, Operator, Status
from kernelwright.search.convergence import best_trial, convergence, seed_trial


def candidate(block: int) -> Candidate:
    return Candidate(source=f"BLOCK = {block}\n")


WRONG = Evaluation(status=Status.WRONG, reason="off by one")


def test_a_search_that_has_not_begun_has_no_rows() -> None:
    assert convergence([]) == []
    assert best_trial([]) is None
    assert seed_trial([]) is None


def test_each_round_shows_its_own_best_and_the_best_so_far() -> None:
    trials = [
        trial_of(0, candidate(64), operator=Operator.SEED),  # 400 µs
        trial_of(1, candidate(128), round=1),  # 300 µs
        trial_of(2, candidate(256), round=1, evaluation=WRONG),
        trial_of(3, candidate(32), round=2),  # 500 µs
        trial_of(4, None, round=2),
        trial_of(5, candidate(512), round=3),  # 100 µs
    ]
    rows = convergence(trials)
    assert [row.round for row in rows] == [0, 1, 2, 3]
    assert [row.trials for row in rows] == [1, 2, 2, 1]
    assert [row.passed for row in rows] == [1, 1, 1, 1]
    assert [row.best for row in rows] == [0, 1, 3, 5]
    assert [row.best_us for row in rows] == [400.0, 300.0, 500.0, 100.0]
    assert [row.best_so_far for row in rows] == [0, 1, 1, 5]
    assert [row.best_so_far_us for row in rows] == [400.0, 300.0, 300.0, 100.0]
    assert [row.speedup for row in rows] == [1.0, 400 / 300, 400 / 300, 4.0]


def test_of_two_equal_scores_the_earlier_trial_is_the_best() -> None:
    trials = [trial_of(2, candidate(128), round=1), trial_of(1, candidate(128), round=1)]
    best = best_trial(trials)
    assert best is not None
    assert best.number == 1


def test_the_seed_is_the_first_that_passed_even_if_a_starter_failed_before() -> None:
    trials = [
        trial_of(0, candidate(64), operator=Operator.SEED, evaluation=WRONG),
        trial_of(1, candidate(32), operator=Operator.REPAIR, parents=(0,)),
        trial_of(2, candidate(512), round=1, parents=(1,)),
    ]
    seed = seed_trial(trials)
    assert seed is not None
    assert seed.number == 1
    assert convergence(trials)[-1].speedup == 5.0


def test_rounds_without_anything_that_passed_are_rows_without_numbers() -> None:
    rows = convergence([trial_of(0, candidate(64), operator=Operator.SEED, evaluation=WRONG), trial_of(1, None)])
    assert [(row.round, row.trials, row.passed, row.best_so_far, row.speedup) for row in rows] == [
        (0, 2, 0, None, None)
    ]
