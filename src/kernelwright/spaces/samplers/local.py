"""Local search with restarts: moves from a config to the first faster neighbour until no neighbour is faster.

Neighbours differ in one parameter: first by one place in its list of choices, then by any number (Hamming distance 1).
If none is faster, the search restarts at a random config. The position is the fastest config of the current walk.
Configs measured in earlier walks are not returned again, and their times do not limit the current walk.
"""

from __future__ import annotations

import math
import random
from collections import deque

from kernelwright.spaces.samplers.bookkeeping import Known, RandomConfigs
from kernelwright.spaces.space import Config, Space, default, key, neighbours


class Local:
    def __init__(self, space: Space, seed: int, first: tuple[Config, ...] = ()) -> None:
        self.space = space
        self.asked = Known(space, first or (default(space),))
        self.draws = RandomConfigs(self.asked, f"local:{seed}")
        self.chance = random.Random(f"local order:{seed}")
        self.here: Config | None = None
        self.here_us = math.inf
        self.queue: deque[Config] = deque()
        self.walk: set[tuple[int, ...]] = set()
        """Keys of the configs returned in the current walk."""

    def ask(self) -> Config | None:
        for source in (self.asked.next_first, self._neighbour, self._restart):
            config = source()
            if config is not None:
                self.walk.add(key(self.space, config))
                return self.asked.give(config)
        return None

    def tell(self, config: Config, time_us: float | None) -> None:
        if not self.asked.learn(config) or time_us is None or (self.here is not None and time_us >= self.here_us):
            return
        if self.here is None or key(self.space, config) in self.walk:
            self.here, self.here_us = dict(config), time_us
            self.queue = self._around(config)

    def _around(self, config: Config) -> deque[Config]:
        """Unknown neighbours: those at one place first, then the others, each group in random order."""
        near = neighbours(self.space, config)
        every = neighbours(
            self.space, config, steps=max((len(one.choices) for one in self.space.parameters), default=0)
        )
        far = [other for other in every if other not in near]
        self.chance.shuffle(near)
        self.chance.shuffle(far)
        return deque(other for other in (*near, *far) if not self.asked.knows(other))

    def _neighbour(self) -> Config | None:
        while self.queue:
            config = self.queue.popleft()
            if not self.asked.knows(config):
                return config
        return None

    def _restart(self) -> Config | None:
        """A random config. A new walk begins as soon as it, or another config returned meanwhile, has a time."""
        self.here, self.here_us, self.walk = None, math.inf, set()
        return self.draws.draw()
