"""The model-based sampler against its control arm, and its parts."""

from __future__ import annotations

import itertools
import math
import statistics
import time

import pytest

from kernelwright.spaces import build_sampler
from kernelwright.spaces.space import Parameter, configs, default, key, size
from kernelwright.spaces.surrogate.gaussian import Process, cholesky, likeness_tables
from kernelwright.spaces.surrogate.sampler import Surrogate, coordinates, improvement, score
from landscapes import ALL, Landscape, ridge


def share_of_optimum(landscape: Landscape, sampler: str, part: float, seeds: int) -> float:
    """Mean over the seeds of best time of all / best time found in that part of the space."""
    space, time_us = landscape
    optimum_us = min(found for config in configs(space) if (found := time_us(config)) is not None)
    shares = []
    for seed in range(seeds):
        chosen, best_us = build_sampler(sampler, space, seed, (default(space),)), math.inf
        for _ in range(max(1, int(part * size(space)))):
            config = chosen.ask()
            assert config is not None
            found = time_us(config)
            chosen.tell(config, found)
            best_us = min(best_us, math.inf if found is None else found)
        shares.append(optimum_us / best_us)
    return statistics.mean(shares)


@pytest.mark.parametrize("name", ALL)
def test_the_model_finds_more_of_the_optimum_than_random_draws(name: str) -> None:
    model = share_of_optimum(ALL[name](), "model", part=0.05, seeds=3)
    drawn = share_of_optimum(ALL[name](), "random", part=0.05, seeds=20)
    assert 1 - model < (1 - drawn) / 2


@pytest.mark.parametrize("name", ALL)
def test_local_search_finds_more_of_the_optimum_than_random_draws(name: str) -> None:
    local = share_of_optimum(ALL[name](), "local", part=0.1, seeds=20)
    assert local > share_of_optimum(ALL[name](), "random", part=0.1, seeds=20)


def test_failures_are_avoided_after_some_were_seen() -> None:
    space, time_us = ridge()
    sampler = Surrogate(space, 0, ())
    outcomes = []
    for _ in range(50):
        config = sampler.ask()
        assert config is not None
        failed = config["A"] >= 32
        outcomes.append(failed)
        # The further up, the faster: only the failures keep it from going there.
        sampler.tell(config, None if failed else (time_us(config) or 0) * (128 / config["A"]) ** 0.5)
    assert sum(outcomes[20:]) <= 30 * 2 / 5 / 2  # two of five choices of A fail


def test_failures_that_were_known_beforehand_are_not_held_against_their_neighbours() -> None:
    space, time_us = ridge()
    sampler, best_us = Surrogate(space, 0, ()), math.inf
    for config in configs(space):
        if config["A"] > 16 or config["B"] > 64:  # the optimum is on the border
            sampler.tell(config, None)
    for _ in range(30):
        config = sampler.ask()
        assert config is not None
        found = time_us(config)
        sampler.tell(config, found)
        best_us = min(best_us, found or math.inf)
    assert set(sampler.feasibility.chances(sampler.process.points)) == {1.0}
    left = [time_us(config) or math.inf for config in configs(space) if config["A"] <= 16 and config["B"] <= 64]
    assert best_us <= 1.05 * min(left)


def test_what_is_foreseen_is_asked_for_next_where_nothing_new_is_told() -> None:
    space, time_us = ridge()
    sampler = Surrogate(space, 0, ())
    assert sampler.foresee(3) == []
    for _ in range(12):
        config = sampler.ask()
        assert config is not None
        sampler.tell(config, time_us(config))
    asked = sampler.ask()
    foreseen = sampler.foresee(len(list(configs(space))))
    assert asked not in foreseen
    assert sampler.ask() in foreseen[:40]


def test_several_asks_in_a_row_do_not_crowd_together() -> None:
    space, time_us = ridge()
    sampler = Surrogate(space, 0, ())
    for _ in range(12):
        config = sampler.ask()
        assert config is not None
        sampler.tell(config, time_us(config))
    waiting = [sampler.ask() for _ in range(8)]
    keys = {key(space, config) for config in waiting if config is not None}
    assert len(keys) == 8
    varied = [name for name in "ABCD" if len({config[name] for config in waiting if config is not None}) > 1]
    assert len(varied) > 1


def test_an_ask_is_cheap_in_a_large_space() -> None:
    """A bound far above the usual 5 ms, to notice a change of order, not of speed."""
    wide = tuple(Parameter(name=f"P{i}", choices=(1, 2, 4, 8), default=2) for i in range(6))
    space = ridge()[0].__class__(parameters=wide)
    sampler, started = Surrogate(space, 0, ()), time.process_time()
    for number in range(30):
        config = sampler.ask()
        assert config is not None
        sampler.tell(config, 1.0 + sum(config.values()) + number % 3)
    assert time.process_time() - started < 6.0


def test_it_goes_on_learning_when_more_is_known_than_it_keeps() -> None:
    space, time_us = ridge()
    sampler, best_us = Surrogate(space, 0, (), most_known=20), math.inf
    for _ in range(70):
        config = sampler.ask()
        assert config is not None
        found = time_us(config)
        sampler.tell(config, found)
        best_us = min(best_us, found or math.inf)
        assert len(sampler.process.observed) <= 20
    assert best_us <= 1.05 * min(time_us(config) or math.inf for config in configs(space))


def test_the_expected_gain_falls_once_the_best_is_found() -> None:
    space, time_us = ALL["bowl"]()
    sampler = Surrogate(space, 0, ())
    assert sampler.expected_gain is None
    gains = []
    for _ in range(60):
        config = sampler.ask()
        assert config is not None
        sampler.tell(config, time_us(config))
        gains.append(sampler.expected_gain)
    known = [gain for gain in gains if gain is not None]
    assert len(known) > 50
    assert max(known[:5]) > 0.01 > 0.001 > max(known[-5:]) >= 0


def test_growing_the_process_gives_what_solving_it_at_once_gives() -> None:
    tables = likeness_tables([[0, 0.5, 1], [0, 1]], [0.7, 1.5])
    points = list(itertools.product(range(3), range(2)))
    process = Process(points[:4], tables, noise=0.01, additive=0.5)
    process.observe(0)
    process.observe(3)
    process.extend(points[4:])
    process.observe(5)
    factor = cholesky([points[0], points[3], points[5]], tables, 0.01, 0.5)
    for position, row in enumerate(factor):
        assert process.factor(position) == pytest.approx(row[:-1])
        assert process.diagonal[position] == pytest.approx(row[-1])
    expected, _ = process.predict([1.0, None, 2.0])
    assert expected[0] == pytest.approx(1.0, abs=0.03)
    assert expected[5] == pytest.approx(2.0, abs=0.03)
    assert all(process.left[index] < 0.03 for index in (0, 3, 5))
    assert all(process.left[index] > 0.05 for index in (1, 2, 4))


def test_improvement_is_the_expected_part_below_the_best() -> None:
    assert improvement(-0.2, 0.0) == 0.2
    assert improvement(0.2, 0.0) == 0.0
    assert improvement(0.0, 1.0) == pytest.approx(1 / math.sqrt(2 * math.pi))
    assert improvement(-5.0, 0.5) == pytest.approx(5.0)
    assert 0 < improvement(2.0, 0.5) < 1e-4


def test_scores_are_log_gains_near_the_best_and_flat_far_from_it() -> None:
    assert score(10.0, 10.0) == 0.0
    assert score(10.1, 10.0) == pytest.approx(0.01, rel=0.02)
    assert score(1000.0, 10.0) - score(500.0, 10.0) < score(20.0, 10.0) - score(10.0, 10.0)


def test_choices_lie_by_their_logarithm_where_they_span_a_factor() -> None:
    assert coordinates(Parameter(name="B", choices=(16, 32, 256), default=16)) == [0.0, 0.25, 1.0]
    assert coordinates(Parameter(name="S", choices=(2, 3, 4), default=2)) == [0.0, 0.5, 1.0]
    assert coordinates(Parameter(name="S", choices=(0, 1, 4), default=0)) == [0.0, 0.25, 1.0]
    assert coordinates(Parameter(name="S", choices=(5,), default=5)) == [0.0]
