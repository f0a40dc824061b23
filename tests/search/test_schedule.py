"""The scheduler of many searches on recorded curves: three searches on an H200, their prompts answered by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from kernelwright.jobs.series_state import bound_us
from kernelwright.journal import Journal
from kernelwright.model import Budget
from kernelwright.search.schedule import Curve, Round, expected_gain, next_round

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
