"""The model-based sampler: a Gaussian process over the logarithm of the time, and the config that promises most.

A few configs spread over the space come first, then each time the one with the largest expected improvement (Jones,
Schonlau and Welch 1998) times the chance that it runs at all. Failures teach only that chance, because a number made up
for them would bend the times around them. Beside its parameters a config has the coordinates of `amounts`; what it
compiled to, where that is known, is weighed as in `promise`. A config under way counts as if its time were the expected
one, so several asks in a row do not crowd together.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from kernelwright.spaces.samplers.bookkeeping import Known, RandomConfigs
from kernelwright.spaces.space import Config, Parameter, Space, default, is_valid, neighbours
from kernelwright.spaces.surrogate.amounts import amounts
from kernelwright.spaces.surrogate.feasible import Feasibility
from kernelwright.spaces.surrogate.gaussian import Places, Process, cholesky, likeness_tables, log_evidence

DESIGN = 4
"""Configs spread over the space before the model is asked. With 4, 5 and 6 of them the best after 5 % of four recorded
spaces was on average 96.8, 96.3 and 95.9 % of the optimum (40 to 50 seeds)."""
SPREAD_DRAWS = 20
"""The farthest of all were always a corner."""
MOST_POINTS = 1000
"""Configs that are compared at each ask: all of a space no larger, otherwise a random part, and the neighbours of
every best so far. With 2000 an ask takes twice as long and finds the same."""
LEARN_AT = (*range(3, 24), 27, 35, 45, 60, 80)
"""Times known when the length scales are learnt again; later they hardly move, and learning grows as the cube."""
REACH = 0.8
"""Length scale to begin with, in ranges of a coordinate."""
REACHES = (0.2, 0.4, 0.8, 1.6, 3.2)
REACH_DOUBT = 1.0
"""Standard deviation of the prior of the logarithm of a length scale."""
ADDITIVE = 0.5
"""The share of the variance that coordinates have each for themselves. Learning it too made no difference."""
NOISE = 0.003
"""Variance of a time against the prior's: medians repeat within about a percent, and times spread over a factor."""
SETTLED = 0.0005
"""An expected gain, as a fraction, below which it says more of the model's confidence than of the configs."""
DARING = 3.0
"""Standard deviations of doubt that a config is then given the benefit of."""
LIKELY = 0.5
"""The chance to run that it should then have."""
MOST_KNOWN = 160
"""Observations that the process holds; work per ask grows with their number. A full one keeps the better half."""

HALVING_BYTES = 32
"""Spilled bytes per thread that make a config half as promising. A quarter of it finds the same, and four times as much
half a per cent less on one of four recorded spaces: what spills at all mostly spills hundreds."""


class Compiled(NamedTuple):
    """spill_bytes: per thread. occupancy: the share of a multiprocessor's warps that are resident."""

    spill_bytes: int
    occupancy: float


class Surrogate:
    def __init__(self, space: Space, seed: int, first: tuple[Config, ...] = (), most_known: int = MOST_KNOWN) -> None:
        self.space, self.most_known = space, most_known
        self.asked = Known(space, (*first, default(space)))
        self.chance = random.Random(f"model:{seed}")
        self.draws = RandomConfigs(self.asked, f"model draws:{seed}")
        self.amounts = amounts(space)
        self.coordinates = [coordinates(parameter) for parameter in space.parameters]
        self.coordinates += [one.coordinates for one in self.amounts]
        self.reaches = [REACH] * len(self.coordinates)
        self.index: dict[Places, int] = {}
        self.configs: list[Config] = []
        self.observed: set[int] = set()
        """The configs proposed, or reported with a result."""
        self.unseen: list[int] = []
        """Observed, but not by the process yet."""
        self.times: dict[int, float] = {}
        self.free: set[int] = set()
        """Which configs were neither proposed nor reported."""
        self.compiled: dict[Places, Compiled] = {}
        self.process = Process([], likeness_tables(self.coordinates, self.reaches), NOISE, ADDITIVE)
        self.feasibility = Feasibility(self.coordinates)
        self.is_to_learn = False
        self.ranked: list[int] = []
        """The configs that were free at the last ask of the model, those that promise most first."""
        self.expected_gain: float | None = None
        """The part of the best time that the config last asked for was expected to save; None before a model was
        asked."""
        self._fill()

    def ask(self) -> Config | None:
        config = self.asked.next_first()
        if config is None:
            if not self.free:
                self._fill()
            if not self.free:
                return None
            self._catch_up()
            index = self._spread() if len(self.observed) < DESIGN or not self.times else self._promising()
            config = self.asked.give(self.configs[index])
        self._observe(self._number(config))
        return config

    def tell(self, config: Config, time_us: float | None) -> None:
        if not self.asked.learn(config):
            return
        index = self._number(config)
        if time_us is None and index not in self.observed:
            return  # a compiler that was asked about every config refused this one: its neighbours are known to compile
        self._observe(index)
        self.feasibility.tell(self.process.points, index, ran=time_us is not None)
        if time_us is None:
            return
        best_us = min(self.times.values(), default=math.inf)
        self.times[index] = time_us
        if time_us < best_us:
            self._add([near for near in neighbours(self.space, config) if not self.asked.knows(near)])
        self.is_to_learn |= len(self.times) in LEARN_AT

    def inform(self, config: Config, spill_bytes: int, occupancy: float) -> None:
        """What it compiled to: those that spill promise less, and the first ones keep as many warps as the default."""
        if is_valid(self.space, config):
            self.compiled[self._places(config)] = Compiled(spill_bytes, occupancy)

    def foresee(self, count: int) -> list[Config]:
        """What it would ask for next, did nothing come of what is under way; empty before a model was asked."""
        return [dict(self.configs[index]) for index in self.ranked if index in self.free][:count]

    # --- what is compared ------------------------------------------------------------------------------------

    def _fill(self) -> None:
        drawn: list[Config] = []
        while len(self.configs) + len(drawn) < MOST_POINTS or not (drawn or self.free):
            config = self.draws.draw()
            if config is None:
                break
            drawn.append(config)
        self._add(drawn)

    def _add(self, found: list[Config]) -> None:
        new = {self._places(config): config for config in found}
        new = {at: config for at, config in new.items() if at not in self.index}
        for at, config in new.items():
            self.index[at] = len(self.configs)
            self.free.add(len(self.configs))
            self.configs.append(config)
        self.process.extend(list(new))

    def _places(self, config: Config) -> Places:
        """Which choice of each parameter, then which value of each amount."""
        own = tuple(parameter.choices.index(config[parameter.name]) for parameter in self.space.parameters)
        return own + tuple(one.place(config) for one in self.amounts)

    def _number(self, config: Config) -> int:
        """The config's number; it is not free from now on."""
        self._add([config])
        index = self.index[self._places(config)]
        self.free.discard(index)
        return index

    def _observe(self, index: int) -> None:
        if index not in self.observed:
            self.observed.add(index)
            self.unseen.append(index)

    def _catch_up(self) -> None:
        """What the process does before a choice: once, however many results arrived since the last one."""
        if self.is_to_learn:
            self._learn()
        if self.is_to_learn or len(self.process.observed) + len(self.unseen) > self.most_known:
            self._renew()
        for index in self.unseen:
            self.process.observe(index)
        self.is_to_learn, self.unseen = False, []

    # --- choosing --------------------------------------------------------------------------------------------

    def _spread(self) -> int:
        """Of some random configs the one farthest from all that were asked for."""
        free = self._as_light_as_default() or sorted(self.free)
        drawn = self.chance.sample(free, min(SPREAD_DRAWS, len(free)))
        return min(drawn, key=lambda index: -self.process.left[index])

    def _as_light_as_default(self) -> list[int]:
        """The free configs that take no more than the default, as far as anybody knows: where it can be had, the first
        times should say something of the good end of the space."""
        reference = self.compiled.get(self._places(default(self.space)))
        points = self.process.points
        return [index for index in sorted(self.free) if is_as_light(self.compiled.get(points[index]), reference)]

    def _promising(self) -> int:
        """The largest expected improvement, weighed with the chance that the config runs and does not spill."""
        best_us = min(self.times.values())
        values = [score(self.times[i], best_us) if i in self.times else None for i in self.process.observed]
        expected, spread = self.process.predict(values)
        points = self.process.points
        hopes = zip(self.feasibility.chances(points), points, strict=True)
        runs = [chance * promise(self.compiled.get(at)) for chance, at in hopes]
        gains = {
            index: improvement(expected[index], spread * math.sqrt(self.process.left[index])) * runs[index]
            for index in sorted(self.free)
        }
        self.ranked = sorted(gains, key=lambda index: -gains[index])
        choice = self.ranked[0]
        self.expected_gain = best = gains[choice]
        return choice if best > SETTLED else self._doubtful(expected, spread, runs)

    def _doubtful(self, expected: list[float], spread: float, runs: list[float]) -> int:
        """Where the model, if it errs, errs most in our favour: asked for when it sees nothing left to gain."""

        def hope(index: int) -> tuple[bool, float]:
            doubt = spread * math.sqrt(self.process.left[index])
            return runs[index] < LIKELY, expected[index] - DARING * doubt

        return min(sorted(self.free), key=hope)

    # --- learning --------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Length scales that explain the times best, one coordinate after the other."""
        known = list(self.times)[: max(LEARN_AT)]
        points = [self.process.points[index] for index in known]
        best_us = min(self.times.values())
        values = [score(self.times[index], best_us) for index in known]

        def evidence(reaches: list[float]) -> float:
            tables = likeness_tables(self.coordinates, reaches)
            doubt = sum((math.log(reach / REACH) / REACH_DOUBT) ** 2 for reach in reaches)
            return log_evidence(cholesky(points, tables, NOISE, ADDITIVE), values) - 0.5 * doubt

        best = evidence(self.reaches)
        for place in range(len(self.reaches)):
            for reach in REACHES:
                tried = [*self.reaches[:place], reach, *self.reaches[place + 1 :]]
                if tried != self.reaches and (found := evidence(tried)) > best:
                    best, self.reaches = found, tried

    def _renew(self) -> None:
        """A process of the present length scales that is to see the same, or the better half where that is a lot."""
        kept = [*self.process.observed, *self.unseen]
        if len(kept) > self.most_known:
            kept = sorted(kept, key=lambda index: self.times.get(index, math.inf))[: self.most_known // 2]
        tables = likeness_tables(self.coordinates, self.reaches)
        self.process, self.unseen = Process(self.process.points, tables, NOISE, ADDITIVE), kept


def score(time_us: float, best_us: float) -> float:
    """What the process sees of a time: logarithmic, so that gains are fractions, and flattened far from the best,
    where differences do not matter."""
    return math.log1p(math.log(time_us / best_us))


def improvement(expected: float, doubt: float) -> float:
    """The expected part of a normal variable below 0, the best's score."""
    if doubt < 1e-9:
        return max(0.0, -expected)
    z = -expected / doubt
    return doubt * (z * 0.5 * math.erfc(-z / math.sqrt(2)) + math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))


def promise(one: Compiled | None) -> float:
    """The part of what a model expects to gain that is left when spills are counted."""
    return 1.0 if one is None else 1.0 / (1.0 + one.spill_bytes / HALVING_BYTES)


def is_as_light(one: Compiled | None, other: Compiled | None) -> bool:
    """Whether it spills no more and keeps no fewer warps resident than the other."""
    if one is None or other is None:
        return True
    return one.spill_bytes <= other.spill_bytes and one.occupancy >= other.occupancy


def coordinates(parameter: Parameter) -> list[float]:
    """Where the choices lie between 0 and 1: by their logarithm where they span a factor of four, otherwise evenly."""
    choices = parameter.choices
    if len(choices) == 1:
        return [0.0]
    if choices[0] > 0 and choices[-1] >= 4 * choices[0]:
        along = [math.log2(choice) for choice in choices]
    else:
        along = [float(choice) for choice in choices]
    return [(value - along[0]) / (along[-1] - along[0]) for value in along]
