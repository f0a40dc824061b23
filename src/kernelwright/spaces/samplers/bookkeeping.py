"""Bookkeeping for samplers: the known configs (returned, or with a result), and random draws of unknown ones.

Every config that a sampler returns passes through `Known.give`, so none is returned twice.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

from kernelwright.spaces.space import Config, Space, configs, is_valid, key, product_size

MOST_LISTED = 20_000
"""Spaces of at most this size before restrictions are listed and shuffled. From larger ones configs are drawn: a source
with two kernels may have a hundred million configs."""
MISSES = 500
"""After this number of consecutive draws without a new config, the rest of a large space is enumerated in order: about
one config in a hundred or fewer is then left."""


class Known:
    """The known configs: those that the sampler returned, or whose result is known. first: configs to return first."""

    def __init__(self, space: Space, first: tuple[Config, ...]) -> None:
        self.space = space
        self.keys: set[tuple[int, ...]] = set()
        self.first = deque(config for config in first if is_valid(space, config))

    def give(self, config: Config) -> Config:
        """Mark a config as known, and return a copy of it."""
        self.keys.add(key(self.space, config))
        return dict(config)

    def learn(self, config: Config) -> bool:
        """Mark a config with a result as known; False if it is not in the space and is ignored."""
        if not is_valid(self.space, config):
            return False
        self.keys.add(key(self.space, config))
        return True

    def knows(self, config: Config) -> bool:
        return key(self.space, config) in self.keys

    def next_first(self) -> Config | None:
        """The next config of `first` that is not known; None if there is none."""
        while self.first:
            config = self.first.popleft()
            if not self.knows(config):
                return self.give(config)
        return None


class RandomConfigs:
    """Draws the unknown configs of a space in random order."""

    def __init__(self, asked: Known, seed: str) -> None:
        self.asked = asked
        self.chance = random.Random(seed)
        self.left: Iterator[Config] | None = None
        if product_size(asked.space) <= MOST_LISTED:
            listed = list(configs(asked.space))
            self.chance.shuffle(listed)
            self.left = iter(listed)

    def draw(self) -> Config | None:
        """An unknown config, not yet marked as known; None if every config is known."""
        if self.left is None:
            for _ in range(MISSES):
                config = {
                    parameter.name: self.chance.choice(parameter.choices) for parameter in self.asked.space.parameters
                }
                if is_valid(self.asked.space, config) and not self.asked.knows(config):
                    return config
            self.left = configs(self.asked.space)
        return next((config for config in self.left if not self.asked.knows(config)), None)
