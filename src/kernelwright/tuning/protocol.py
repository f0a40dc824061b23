"""The contract of a sampler: which config of a space to measure next.

It measures nothing and stops nothing: how many configs are worth measuring is up to who asks (see `enough`). The one
rule: a sampler depends only on its arguments and on the asks and tells so far, so the same seed and the same tells
give the same asks, on any machine.
"""

from __future__ import annotations

from typing import Protocol

from kernelwright.tuning.space import Config, Space


class Sampler(Protocol):
    """Never asks for a config twice; several may be under way, and are told in any order."""

    def ask(self) -> Config | None:
        """The next config to measure. None: nothing to start until more is told; with nothing under way, the whole
        space has been asked for."""
        ...

    def tell(self, config: Config, time_us: float | None) -> None:
        """What came of a config; None: it failed. One that was never asked for (measured earlier) is welcome too."""
        ...


class SamplerFactory(Protocol):
    """What `SAMPLERS` holds."""

    def __call__(self, space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
        """first: configs to ask for before anything else, such as the default and those that a model proposed; what
        is not in the space, or comes twice, is left out."""
        ...
