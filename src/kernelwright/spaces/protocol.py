"""The contract of a sampler: which config of a space to measure next.

A sampler measures nothing and does not decide when to stop. It depends only on its arguments and on the asks and tells
so far, so the same seed and the same tells give the same asks, on any machine.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from kernelwright.spaces.space import Config, Space


class Sampler(Protocol):
    """Never asks for a config twice; several may be under way, and are reported in any order."""

    def ask(self) -> Config | None:
        """The next config to measure. None: nothing to start until more is reported; with nothing under way, the whole
        space has been asked for."""
        ...

    def tell(self, config: Config, time_us: float | None) -> None:
        """What came of a config; None: it failed. One that was never asked for (measured earlier) is welcome too."""
        ...


@runtime_checkable
class Informed(Protocol):
    """A sampler that makes use of what the compiler says of configs before any of them is measured."""

    def inform(self, config: Config, spill_bytes: int, occupancy: float) -> None:
        """spill_bytes: per thread, of the worst kernel. occupancy: the share of a multiprocessor's warps that its
        fullest kernel leaves resident. Of some configs, all or none; before the first ask or later."""
        ...


class SamplerFactory(Protocol):
    """What `SAMPLERS` holds."""

    def __call__(self, space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
        """first: configs to ask for before anything else, such as the default and those that a model proposed; what
        is not in the space, or comes twice, is left out."""
        ...
