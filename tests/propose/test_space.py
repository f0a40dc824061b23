"""Points of a config space, and what is expected of them."""

from __future__ import annotations

import math

import pytest

from kernelwright.model import Candidate, Evaluation, Status
from kernelwright.propose.forecast import backward, fitted, forecast, forward
from kernelwright.propose.space import Space, space_of, taken, untried
from kernelwright.source import Tunable, find_tunables
from proposing import KERNEL, failed, passed, trial

WARPS = Tunable(key="k.num_warps", default=4, choices=(1, 2, 4, 8), kind="num_warps")
BLOCK = Tunable(key="BLOCK", default=64, choices=(16, 64, 256), kind="constexpr")
PICK = Tunable(key="autotune:k", default=0, choices=(0, 1, 2), kind="autotune")
SPACE = Space("source", (WARPS, BLOCK))


def test_a_point_fills_in_defaults_and_a_config_spells_them_out() -> None:
    assert SPACE.size == 12
    assert SPACE.point({}) == (4, 64)
    assert SPACE.point({"BLOCK": 16, "unknown": 3}) == (4, 16)
    assert SPACE.config((8, 256)) == {"k.num_warps": 8, "BLOCK": 256}


def test_numbers_count_every_point_once() -> None:
    assert len({SPACE.numbered(number) for number in range(SPACE.size)}) == SPACE.size


def test_neighbours_are_one_step_away_and_second_neighbours_two_tunables() -> None:
    assert sorted(SPACE.neighbours((1, 64))) == [(1, 16), (1, 256), (2, 64)]
    assert SPACE.second_neighbours((1, 64)) == [(2, 16), (2, 256)]


def test_a_value_between_the_choices_has_neighbours_too() -> None:
    assert sorted(SPACE.neighbours((3, 64))) == [(2, 64), (3, 16), (3, 256), (4, 64)]


def test_what_is_taken_is_left_out_and_the_rest_is_complete() -> None:
    used = {(4, 64), (1, 16)}
    for start in range(SPACE.size):
        left = list(untried(SPACE, used, start))
        assert len(left) == len(set(left)) == SPACE.size - 2
        assert not used.intersection(left)
    assert list(untried(SPACE, {SPACE.numbered(number) for number in range(12)}, 0)) == []


def test_taken_counts_trials_and_candidates_under_way_of_the_same_source() -> None:
    tunables = find_tunables(KERNEL)
    space = Space(KERNEL, tunables)
    trials = (trial(0), trial(1, config={"BLOCK": 512}), trial(2, "other"), trial(3, None))
    under_way = (Candidate(source=KERNEL, config={"BLOCK": 64}), Candidate(source="other"))
    assert taken(space, trials, under_way) == {
        space.point({}),
        space.point({"BLOCK": 512}),
        space.point({"BLOCK": 64}),
    }


def test_counted_autotune_configs_join_the_space_unless_they_can_be_read() -> None:
    evaluation = Evaluation(status=Status.PASSED, autotune={"k": 4, "none": 0})
    assert [tunable.key for tunable in space_of(trial(0, "x = 1\n", evaluation=evaluation), "x = 1\n").tunables] == [
        "autotune:k"
    ]


def test_the_forecast_knows_what_it_was_told_and_doubts_the_rest() -> None:
    scores = {(4, 64): 0.0, (4, 16): 2.0}
    known = fitted(SPACE, scores)
    assert known.of((4, 64)) < known.of((4, 16))
    assert known.of((8, 64)) < known.of((8, 16)), "neighbours take after what is known"


def test_a_forecast_from_nothing_prefers_nothing() -> None:
    empty = forecast(SPACE, ())
    assert empty.of((4, 64)) == empty.of((1, 16))


def test_failures_count_as_slow_and_unknown_ones_not_at_all() -> None:
    space = Space(KERNEL, find_tunables(KERNEL))
    good, bad = trial(0, evaluation=passed(10.0)), trial(1, config={"BLOCK": 1024}, evaluation=failed())
    expected = forecast(space, (good, bad))
    assert expected.of(space.point({})) < expected.of(space.point({"BLOCK": 1024}))
    unknown = trial(2, config={"BLOCK": 64}, evaluation=Evaluation(status=Status.NOT_VERIFIED))
    assert forecast(space, (good, bad, unknown)) == expected


def test_many_trials_are_cut_to_the_best_and_the_latest() -> None:
    tunables = tuple(Tunable(key=f"BLOCK_{n}", default=1, choices=tuple(range(16)), kind="constexpr") for n in range(2))
    space = Space("source", tunables)
    trials = [
        trial(n, "source", config=space.config(space.numbered(n)), evaluation=passed(100.0 + n)) for n in range(200)
    ]
    known = forecast(space, trials).known
    assert len(known) == 120
    assert space.numbered(0) in known
    assert space.numbered(199) in known


def test_configs_of_a_tuner_are_all_one_step_apart() -> None:
    space = Space("source", (PICK,))
    known = fitted(space, {(0,): 0.0, (1,): 1.0})
    assert known.of((2,)) == pytest.approx(fitted(space, {(0,): 0.0, (2,): 1.0}).of((1,)))


def test_triangular_systems_are_solved() -> None:
    factor = ((2.0,), (1.0, 3.0), (0.5, -1.0, 4.0))
    right = [2.0, 7.0, 1.0]
    x = forward(factor, right)
    assert [sum(a * b for a, b in zip(row, x, strict=False)) for row in factor] == pytest.approx(right)
    y = backward(factor, right)
    columns = [[row[i] if i < len(row) else 0.0 for row in factor] for i in range(3)]
    assert [sum(a * b for a, b in zip(column, y, strict=True)) for column in columns] == pytest.approx(right)
    assert not math.isnan(sum(y))
