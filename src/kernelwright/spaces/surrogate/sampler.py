"""The model-based sampler: Bayesian optimisation with a Gaussian process over the logarithm of the time.

A few configs spread over the space come first. After that the acquisition function is the expected improvement (Jones,
Schonlau and Welch 1998) times the probability that the config runs. Failures only affect this probability, because an
invented time for them would distort the model around them. A config has the coordinates of its parameters and of
`amounts`. Known compiler statistics reduce the expected improvement (`promise`). A config in flight counts as measured
at its posterior mean, so that consecutive asks do not cluster.
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
"""Number of configs spread over the space before the model is used. With 4, 5 and 6 the best config after 5 % of four
recorded spaces was on average at 96.8, 96.3 and 95.9 % of the optimum (40 to 50 seeds)."""
SPREAD_DRAWS = 20
"""A spread config is the farthest of this number of random configs. The farthest of all configs would always be a
corner of the space."""
MOST_POINTS = 1000
"""Number of configs that are compared at each ask: all configs of a smaller space, otherwise a random part, and the
neighbours of every best config so far. With 2000 an ask takes twice as long and gives the same result."""
LEARN_AT = (*range(3, 24), 27, 35, 45, 60, 80)
"""Numbers of known times at which the length scales are fitted again. Later they hardly change, and the cost grows with
the cube of the number."""
REACH = 0.8
"""Initial length scale, in ranges of a coordinate."""
REACHES = (0.2, 0.4, 0.8, 1.6, 3.2)
REACH_DOUBT = 1.0
"""Standard deviation of the prior of the logarithm of a length scale."""
ADDITIVE = 0.5
"""Fraction of the variance in the sum of one-coordinate kernels. Fitting it, too, made no difference."""
NOISE = 0.003
"""Variance of an observed time over the prior variance: medians repeat within about a percent, and times differ by a
factor."""
SETTLED = 0.0005
"""If the largest expected improvement is below this fraction, the sampler chooses by the lower confidence bound: such
small values depend more on the model's confidence than on the configs."""
DARING = 3.0
"""Number of standard deviations in that lower confidence bound."""
LIKELY = 0.5
"""Configs with at least this probability to run are preferred in that choice."""
MOST_KNOWN = 160
"""Largest number of observations in the process; work per ask grows with it. When it is full, the faster half is kept.
"""

HALVING_BYTES = 32
"""Spilled bytes per thread that halve the expected improvement. A quarter of it gives the same results, four times it
half a per cent less on one of four recorded spaces: configs that spill at all mostly spill hundreds of bytes."""


class Compiled(NamedTuple):
    """Compiler statistics of a config. spill_bytes: per thread. occupancy: resident fraction of a multiprocessor's warp
    slots."""

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
        """Indices of configs that were proposed, or reported with a result."""
        self.unseen: list[int] = []
        """Indices in `observed` that are not in the process yet."""
        self.times: dict[int, float] = {}
        self.free: set[int] = set()
        """Indices of configs that were neither proposed nor reported."""
        self.compiled: dict[Places, Compiled] = {}
        self.process = Process([], likeness_tables(self.coordinates, self.reaches), NOISE, ADDITIVE)
        self.feasibility = Feasibility(self.coordinates)
        self.is_to_learn = False
        self.ranked: list[int] = []
        """Indices of configs that were free at the last use of the model, by the acquisition function, largest first.
        """
        self.expected_gain: float | None = None
        """The expected improvement of the last proposed config, as a fraction of the best time; None before the model
        was used."""
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
            return  # refused while the whole space was compiled, so it is known which of its neighbours compile
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
        """Report compiler statistics: spills reduce the expected improvement, and the first spread configs should spill
        no more and have no lower occupancy than the default."""
        if is_valid(self.space, config):
            self.compiled[self._places(config)] = Compiled(spill_bytes, occupancy)

    def foresee(self, count: int) -> list[Config]:
        """The configs that `ask` would return next without further results; empty before the model was used."""
        return [dict(self.configs[index]) for index in self.ranked if index in self.free][:count]

    # --- the points that are compared ------------------------------------------------------------------------

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
        """The index of each parameter's choice, then of each amount's value."""
        own = tuple(parameter.choices.index(config[parameter.name]) for parameter in self.space.parameters)
        return own + tuple(one.place(config) for one in self.amounts)

    def _number(self, config: Config) -> int:
        """The config's index; removes it from `free`."""
        self._add([config])
        index = self.index[self._places(config)]
        self.free.discard(index)
        return index

    def _observe(self, index: int) -> None:
        if index not in self.observed:
            self.observed.add(index)
            self.unseen.append(index)

    def _catch_up(self) -> None:
        """Update the process before a choice, once for all results since the last choice."""
        if self.is_to_learn:
            self._learn()
        if self.is_to_learn or len(self.process.observed) + len(self.unseen) > self.most_known:
            self._renew()
        for index in self.unseen:
            self.process.observe(index)
        self.is_to_learn, self.unseen = False, []

    # --- choosing --------------------------------------------------------------------------------------------

    def _spread(self) -> int:
        """Of `SPREAD_DRAWS` random configs, the one with the largest posterior variance."""
        free = self._as_light_as_default() or sorted(self.free)
        drawn = self.chance.sample(free, min(SPREAD_DRAWS, len(free)))
        return min(drawn, key=lambda index: -self.process.left[index])

    def _as_light_as_default(self) -> list[int]:
        """The free configs that are not known to spill more or to have lower occupancy than the default. The first
        times should come from the good part of the space, if there are such configs."""
        reference = self.compiled.get(self._places(default(self.space)))
        points = self.process.points
        return [index for index in sorted(self.free) if is_as_light(self.compiled.get(points[index]), reference)]

    def _promising(self) -> int:
        """The config with the largest expected improvement, weighted by the probability to run and by spills."""
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
        """The config with the smallest lower confidence bound of its time, preferring those likely to run: used when
        the model expects no improvement."""

        def hope(index: int) -> tuple[bool, float]:
            doubt = spread * math.sqrt(self.process.left[index])
            return runs[index] < LIKELY, expected[index] - DARING * doubt

        return min(sorted(self.free), key=hope)

    # --- learning --------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Fit the length scales by maximum a posteriori, one coordinate after the other."""
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
        """Replace the process by one with the current length scales and the same observations; if there are more than
        `most_known`, only the fastest half of that number."""
        kept = [*self.process.observed, *self.unseen]
        if len(kept) > self.most_known:
            kept = sorted(kept, key=lambda index: self.times.get(index, math.inf))[: self.most_known // 2]
        tables = likeness_tables(self.coordinates, self.reaches)
        self.process, self.unseen = Process(self.process.points, tables, NOISE, ADDITIVE), kept


def score(time_us: float, best_us: float) -> float:
    """The value of a time in the process: logarithmic, so that gains are fractions, and compressed far from the best,
    where differences do not matter."""
    return math.log1p(math.log(time_us / best_us))


def improvement(expected: float, doubt: float) -> float:
    """Expected improvement of a normal variable below 0, the score of the best. doubt: its standard deviation."""
    if doubt < 1e-9:
        return max(0.0, -expected)
    z = -expected / doubt
    return doubt * (z * 0.5 * math.erfc(-z / math.sqrt(2)) + math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi))


def promise(one: Compiled | None) -> float:
    """Factor for the expected improvement of a config that spills; 1 without known statistics."""
    return 1.0 if one is None else 1.0 / (1.0 + one.spill_bytes / HALVING_BYTES)


def is_as_light(one: Compiled | None, other: Compiled | None) -> bool:
    """Whether a config spills no more and has no lower occupancy than the other; True if one is not known."""
    if one is None or other is None:
        return True
    return one.spill_bytes <= other.spill_bytes and one.occupancy >= other.occupancy


def coordinates(parameter: Parameter) -> list[float]:
    """The choices scaled to 0 to 1: by their logarithm if they span at least a factor of four, otherwise linearly."""
    choices = parameter.choices
    if len(choices) == 1:
        return [0.0]
    if choices[0] > 0 and choices[-1] >= 4 * choices[0]:
        along = [math.log2(choice) for choice in choices]
    else:
        along = [float(choice) for choice in choices]
    return [(value - along[0]) / (along[-1] - along[0]) for value in along]
