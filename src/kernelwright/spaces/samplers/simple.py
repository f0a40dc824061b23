"""Samplers that ignore times: exhaustive enumeration in the space's order, and random draws."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.spaces.samplers.bookkeeping import Known, RandomConfigs
from kernelwright.spaces.space import Config, Space, configs


class Draws:
    """Returns configs as `draw` gives them. asked: the known configs; draw gives an unknown one, or None at the end."""

    def __init__(self, asked: Known, draw: Callable[[], Config | None]) -> None:
        self.asked, self.draw = asked, draw

    def ask(self) -> Config | None:
        config = self.asked.next_first()
        if config is None:
            config = self.draw()
        return None if config is None else self.asked.give(config)

    def tell(self, config: Config, time_us: float | None) -> None:
        self.asked.learn(config)


def exhaustive(space: Space, seed: int, first: tuple[Config, ...] = ()) -> Draws:
    """seed: for the common signature; the order does not depend on it."""
    asked, left = Known(space, first), configs(space)
    return Draws(asked, lambda: next((config for config in left if not asked.knows(config)), None))


def random_draws(space: Space, seed: int, first: tuple[Config, ...] = ()) -> Draws:
    asked = Known(space, first)
    return Draws(asked, RandomConfigs(asked, f"random:{seed}").draw)
