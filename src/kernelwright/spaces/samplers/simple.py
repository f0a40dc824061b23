"""Samplers that ignore times: exhaustive enumeration in the space's order, and random draws.

Exhaustive enumeration finds the optimum that other samplers are compared with. Random draws are the control arm that
every other sampler must beat.
"""

from __future__ import annotations

from kernelwright.spaces.samplers.bookkeeping import Known, RandomConfigs
from kernelwright.spaces.space import Config, Space, configs


class Exhaustive:
    def __init__(self, space: Space, first: tuple[Config, ...]) -> None:
        self.asked = Known(space, first)
        self.left = configs(space)

    def ask(self) -> Config | None:
        config = self.asked.next_first()
        if config is None:
            config = next((config for config in self.left if not self.asked.knows(config)), None)
        return None if config is None else self.asked.give(config)

    def tell(self, config: Config, time_us: float | None) -> None:
        self.asked.learn(config)


def exhaustive(space: Space, seed: int, first: tuple[Config, ...] = ()) -> Exhaustive:
    """seed: for the common signature; the order does not depend on it."""
    return Exhaustive(space, first)


class RandomDraws:
    def __init__(self, space: Space, seed: int, first: tuple[Config, ...]) -> None:
        self.asked = Known(space, first)
        self.draws = RandomConfigs(self.asked, f"random:{seed}")

    def ask(self) -> Config | None:
        config = self.asked.next_first()
        if config is None:
            config = self.draws.draw()
        return None if config is None else self.asked.give(config)

    def tell(self, config: Config, time_us: float | None) -> None:
        self.asked.learn(config)


def random_draws(space: Space, seed: int, first: tuple[Config, ...] = ()) -> RandomDraws:
    return RandomDraws(space, seed, first)
