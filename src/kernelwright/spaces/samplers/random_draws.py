"""Random configs without repetition: the control arm that any cleverer sampler must beat.

The rule: it learns nothing from what it is told but that a config needs no asking.
"""

from __future__ import annotations

from kernelwright.spaces.samplers.asked import Asked, Draws
from kernelwright.spaces.space import Config, Space


class RandomDraws:
    def __init__(self, space: Space, seed: int, first: tuple[Config, ...]) -> None:
        self.asked = Asked(space, first)
        self.draws = Draws(self.asked, f"random:{seed}")

    def ask(self) -> Config | None:
        config = self.asked.next_first()
        if config is None:
            config = self.draws.draw()
        return None if config is None else self.asked.give(config)

    def tell(self, config: Config, time_us: float | None) -> None:
        self.asked.learn(config)


def random_draws(space: Space, seed: int, first: tuple[Config, ...] = ()) -> RandomDraws:
    return RandomDraws(space, seed, first)
