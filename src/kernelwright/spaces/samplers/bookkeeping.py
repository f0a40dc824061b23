"""The configs that a sampler proposed or has a result of, and random configs that are neither.

Every config that a sampler returns passes through `Known.give`, so none is asked for twice.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

from kernelwright.spaces.space import Config, Space, configs, is_valid, key, product_size

MOST_LISTED = 20_000
"""A space with no more configs than this before restrictions is listed and shuffled; a larger one is drawn from, since
a source with two kernels has a hundred million configs."""
MISSES = 500
"""Draws in a row that hit nothing new, after which the rest of a large space is walked through in order: about one
config in a hundred or fewer is then left."""


class Known:
    """The configs that were asked for, or whose result is known. first: those to begin with."""

    def __init__(self, space: Space, first: tuple[Config, ...]) -> None:
        self.space = space
        self.keys: set[tuple[int, ...]] = set()
        self.first = deque(config for config in first if is_valid(space, config))

    def give(self, config: Config) -> Config:
        """The config as a new dict, from now on known."""
        self.keys.add(key(self.space, config))
        return dict(config)

    def learn(self, config: Config) -> bool:
        """Whether a config with a result is of this space; it is then known. Others are ignored."""
        if not is_valid(self.space, config):
            return False
        self.keys.add(key(self.space, config))
        return True

    def knows(self, config: Config) -> bool:
        return key(self.space, config) in self.keys

    def next_first(self) -> Config | None:
        """The next of the configs to begin with whose result is not known."""
        while self.first:
            config = self.first.popleft()
            if not self.knows(config):
                return self.give(config)
        return None


class RandomConfigs:
    """Every config of a space that is not yet known, in random order."""

    def __init__(self, asked: Known, seed: str) -> None:
        self.asked = asked
        self.chance = random.Random(seed)
        self.left: Iterator[Config] | None = None
        if product_size(asked.space) <= MOST_LISTED:
            listed = list(configs(asked.space))
            self.chance.shuffle(listed)
            self.left = iter(listed)

    def draw(self) -> Config | None:
        """A config that is not known, which stays so until it is given; None: every config is known."""
        if self.left is None:
            for _ in range(MISSES):
                config = {
                    parameter.name: self.chance.choice(parameter.choices) for parameter in self.asked.space.parameters
                }
                if is_valid(self.asked.space, config) and not self.asked.knows(config):
                    return config
            self.left = configs(self.asked.space)
        return next((config for config in self.left if not self.asked.knows(config)), None)
