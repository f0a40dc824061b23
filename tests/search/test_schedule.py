"""The scheduler of many searches on recorded curves: three searches on an H200, their prompts answered by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from kernelwright.jobs.series_state import bound_us
from kernelwright.journal import Journal
from kernelwright.model import Budget
from kernelwright.search.schedule import PATIENCE, Curve, Round, expected_gain, next_round

GALLERY = Path(__file__).parents[2] / "gallery"
RECORDED = ("depthwise_conv2d", "max_pool3d", "rmsnorm")
TRIALS = 4
"""Of a round: one round of the default beam."""

Chooser = Callable[[Mapping[str, Curve]], str | None]


@cache
def recorded(name: str) -> tuple[tuple[float | None, ...], float]:
    """The best time after each round, and the bound."""
    times: list[float | None] = []
    best: float | None = None
    with Journal.open(GALLERY / name / "runs/mailbox") as journal:
        told = [event.number for event in journal.history() if event.kind.value == "told"]
        trials = journal.trials()
        bound = bound_us(journal.info.problem)
    scores = {trial.number: trial.score_us for trial in trials}
    for number, trial in enumerate(told, start=1):
        score_us = None if trial is None else scores[trial]
        best = min((one for one in (best, score_us) if one is not None), default=None)
        if number % TRIALS == 0:
            times.append(best)
    return tuple(times), bound


def curves_after(chosen: list[str]) -> dict[str, Curve]:
    found = {}
    for name in RECORDED:
        times, bound = recorded(name)
        count = chosen.count(name)
        rounds = tuple(Round(time, {"trials": float(TRIALS)}) for time in times[:count])
        found[name] = Curve(rounds, bound_us=bound, is_over=count >= len(times))
    return found


def played(choose: Chooser, rounds: int) -> list[str]:
    chosen: list[str] = []
    while len(chosen) < rounds and (name := choose(curves_after(chosen))) is not None:
        chosen.append(name)
    return chosen


def by_gain(curves: Mapping[str, Curve]) -> str | None:
    grant = next_round(curves, Budget(trials=10_000), TRIALS)
    return None if grant is None else grant.name


def in_turn() -> Chooser:
    turn: Iterator[str] = itertools.cycle(RECORDED)

    def choose(curves: Mapping[str, Curve]) -> str | None:
        if all(curve.is_over for curve in curves.values()):
            return None
        return next(name for name in turn if not curves[name].is_over)

    return choose


def excess(chosen: list[str]) -> float:
    """How many times the bound the problems take, summed."""
    curves = curves_after(chosen)
    return sum((curve.best_us or 1e9) / curve.bound_us for curve in curves.values())


def test_recorded_searches_end_where_nothing_is_left_to_gain() -> None:
    chosen = played(by_gain, 1000)
    assert set(chosen[:3]) == set(RECORDED)
    assert all(expected_gain(curve) == 0 for curve in curves_after(chosen).values())


def test_over_all_budgets_it_is_ahead_of_taking_turns_on_recorded_searches() -> None:
    budgets = range(3, 31, 3)
    ours = [excess(played(by_gain, rounds)) for rounds in budgets]
    turns = [excess(played(in_turn(), rounds)) for rounds in budgets]
    assert sum(ours) < sum(turns)
    assert all(one <= 1.03 * other for one, other in zip(ours, turns, strict=True))


def curve(*times: float, **spent: float) -> Curve:
    """Rounds that each took `spent` and reached these times; the bound is 1 µs."""
    return Curve(tuple(Round(time, spent) for time in times), bound_us=1.0)


def test_first_rounds_share_what_is_left_and_later_ones_may_spend_it() -> None:
    total = Budget(trials=20, minutes=9)
    first = next_round({"a": Curve(), "b": Curve(), "c": Curve()}, total, 8)
    assert first is not None
    assert (first.name, first.limits.trials, first.limits.minutes) == ("a", 6, 3.0)
    later = next_round({"a": curve(5.0, trials=6, minutes=3)}, total, 8)
    assert later is not None
    assert (later.limits.trials, later.limits.minutes) == (8, 6.0)


def test_of_two_equal_gains_the_one_that_costs_less_of_the_scarcest_limit_is_chosen() -> None:
    total = Budget(trials=1000, minutes=10)
    curves = {"slow": curve(5.0, trials=2, minutes=4), "quick": curve(5.0, trials=8, minutes=1)}
    chosen = next_round(curves, total, TRIALS)
    assert chosen is not None
    assert chosen.name == "quick"


def test_a_change_that_two_sessions_differ_by_is_no_gain() -> None:
    times = [5.0 * 0.99**number for number in range(PATIENCE + 1)]
    assert curve(*times, trials=4).is_stale
    assert not curve(*times[:-1], 0.97 * times[-2], trials=4).is_stale
    assert not curve(*times[:-1], trials=4).is_stale, "too few rounds to say"
