"""The laws of the scheduler of many searches, over curves that are generated."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from kernelwright.model import Budget
from kernelwright.search.schedule import NEAR, Curve, Grant, Round, expected_gain, is_whole, next_round

ROUND = 10
SEEDS = range(20)


@dataclass(frozen=True)
class Task:
    """A problem whose rounds are known beforehand. times_us: after each round; the last one stays."""

    times_us: tuple[float | None, ...]
    bound_us: float
    rounds: int
    """After which its search has nothing more to ask."""


def generated(seed: int) -> dict[str, Task]:
    """Problems that gain at different paces; some never pass, some are at the bound from the start."""
    draw = random.Random(seed)
    found = {}
    for number in range(draw.randint(1, 7)):
        bound_us = draw.uniform(5, 50)
        best_us = bound_us * draw.choice([1.02, 1.5, 4.0, 20.0])
        times: list[float | None] = [None] * draw.choice([0, 0, 0, 1, 50])
        for _ in range(30):
            times.append(best_us)
            best_us = max(bound_us, best_us * draw.choice([1.0, 1.0, 0.98, 0.7]))
        found[f"problem {number}"] = Task(tuple(times), bound_us, draw.choice([2, 5, 1000]))
    return found


def budget_of(seed: int) -> Budget:
    draw = random.Random(-seed)
    return Budget(
        trials=draw.choice([None, 3, 60, 400]),
        minutes=draw.choice([None, 0.5, 12.0]),
        tokens=draw.choice([None, 10, 30_000]),
        gpu_seconds=None if seed % 3 else 40.0,
    )


def played(tasks: Mapping[str, Task], total: Budget, seed: int = 0, most: int = 400) -> list[tuple[Grant, Round]]:
    """What the scheduler grants, and what each round spends: some part of its limits, and at least a trial."""
    draw, history = random.Random(seed), list[tuple[Grant, Round]]()
    curves = curves_of(tasks, ())
    while len(history) < most and (grant := next_round(curves, total, ROUND)) is not None:
        done, task = len(curves[grant.name].rounds), tasks[grant.name]
        spent = {"trials": 1.0, "minutes": 0.2, "tokens": 700.0, "gpu_seconds": 3.0}
        for name in spent:
            limit = getattr(grant.limits, name)
            spent[name] *= draw.uniform(0.5, 1) * ROUND
            if limit is not None:
                spent[name] = min(spent[name], limit)
            if is_whole(name):
                spent[name] = max(int(spent[name]), 1)
        history.append((grant, Round(task.times_us[min(done, len(task.times_us) - 1)], spent)))
        curves = one_more(tasks, curves, history[-1])
    return history


def one_more(tasks: Mapping[str, Task], curves: Mapping[str, Curve], last: tuple[Grant, Round]) -> dict[str, Curve]:
    name = last[0].name
    rounds = (*curves[name].rounds, last[1])
    return {**curves, name: Curve(rounds, tasks[name].bound_us, is_over=len(rounds) >= tasks[name].rounds)}


def before_each(
    tasks: Mapping[str, Task], history: Sequence[tuple[Grant, Round]]
) -> Iterator[tuple[dict[str, Curve], Grant]]:
    """Each grant, after the curves that it followed from."""
    curves = curves_of(tasks, ())
    for grant, done in history:
        yield curves, grant
        curves = one_more(tasks, curves, (grant, done))


def curves_of(tasks: Mapping[str, Task], history: Sequence[tuple[Grant, Round]]) -> dict[str, Curve]:
    curves = {name: Curve((), bound_us=task.bound_us) for name, task in tasks.items()}
    for last in history:
        curves = one_more(tasks, curves, last)
    return curves


@pytest.mark.parametrize("seed", SEEDS)
def test_the_budget_is_never_exceeded(seed: int) -> None:
    total = budget_of(seed)
    spent = dict.fromkeys(("trials", "minutes", "tokens", "gpu_seconds"), 0.0)
    for grant, done in played(generated(seed), total, seed):
        for name in spent:
            most, limit = getattr(total, name), getattr(grant.limits, name)
            if most is not None:
                assert limit is not None
                assert 0 < limit <= most - spent[name] + 1e-9
            spent[name] += done.spent[name]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_rounds_lead_to_the_same_choices(seed: int) -> None:
    tasks, total = generated(seed), budget_of(seed)
    history = played(tasks, total, seed)
    assert played(tasks, total, seed) == history
    for curves, grant in before_each(tasks, history):
        assert next_round(curves, total, ROUND) == grant


@pytest.mark.parametrize("seed", SEEDS)
def test_every_problem_gets_its_first_round_before_any_gets_a_second(seed: int) -> None:
    tasks = generated(seed)
    names = [grant.name for grant, _ in played(tasks, Budget(trials=400), seed)]
    assert names[: len(tasks)] == list(tasks)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_problem_with_no_expected_gain_gets_nothing(seed: int) -> None:
    tasks = generated(seed)
    history = played(tasks, Budget(trials=2000), seed)
    for curves, grant in before_each(tasks, history):
        curve = curves[grant.name]
        assert not curve.is_over
        assert not curve.rounds or expected_gain(curve) > 0
        assert curve.best_us is None or curve.bound_us / curve.best_us < NEAR


@pytest.mark.parametrize("seed", SEEDS)
def test_a_budget_that_is_left_leaves_nothing_to_gain(seed: int) -> None:
    tasks, total = generated(seed), Budget(trials=10**6)
    history = played(tasks, total, seed, most=1000)
    for curve in curves_of(tasks, history).values() if len(history) < 1000 else ():
        assert expected_gain(curve) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_problem_without_gains_waits_until_all_others_are_at_their_end(seed: int) -> None:
    tasks = generated(seed)
    history = played(tasks, Budget(trials=2000), seed)
    for curves, grant in before_each(tasks, history):
        if curves[grant.name].is_stale:
            assert all(curve.is_stale or expected_gain(curve) == 0 for curve in curves.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_spent_beside_the_rounds_counts(seed: int) -> None:
    tasks = generated(seed)
    before = next_round(curves_of(tasks, ()), Budget(minutes=10), ROUND, {"minutes": 4})
    assert before == next_round(curves_of(tasks, ()), Budget(minutes=6), ROUND)
    assert next_round(curves_of(tasks, ()), Budget(minutes=10), ROUND, {"minutes": 10}) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_more_weight_never_moves_a_problem_back(seed: int) -> None:
    tasks, total = generated(seed), Budget(trials=10**6)
    curves = curves_of(tasks, played(tasks, total, seed, most=len(tasks) + 3))
    chosen = next_round(curves, total, ROUND)
    if chosen is not None and curves[chosen.name].rounds:
        heavier = {**curves, chosen.name: replace(curves[chosen.name], weight=3.0)}
        assert next_round(heavier, total, ROUND) == chosen
