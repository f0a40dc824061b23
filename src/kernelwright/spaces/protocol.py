"""The `Sampler` protocol (ask/tell): a sampler chooses which config of a space to measure next.

A sampler does not measure and does not decide when to stop. It depends only on its arguments and on the previous calls
of `ask` and `tell`, so the same seed and the same calls give the same configs on any machine.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from kernelwright.spaces.space import Config, Space


class Sampler(Protocol):
    """Returns no config twice. Several configs may be in flight, and are reported in any order."""

    def ask(self) -> Config | None:
        """The next config to measure. None: nothing to start until more results are reported; if none is in flight, the
        whole space has been returned."""
        ...

    def tell(self, config: Config, time_us: float | None) -> None:
        """Report the result of a config; time_us None: it failed. Configs that `ask` did not return (measured earlier)
        are also accepted."""
        ...


@runtime_checkable
class Informed(Protocol):
    """A sampler that uses compiler statistics of configs that are not measured yet."""

    def inform(self, config: Config, spill_bytes: int, occupancy: float) -> None:
        """Report the compiler statistics of a config. spill_bytes: per thread, the largest of its kernels. occupancy:
        resident fraction of a multiprocessor's warp slots, the smallest of its kernels. May be called for some configs,
        all or none, before or after the first `ask`."""
        ...


class SamplerFactory(Protocol):
    """Type of the entries of `SAMPLERS`: makes a sampler."""

    def __call__(self, space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
        """first: configs to return first, such as the default and configs that a model proposed; those outside the
        space and repeated ones are left out."""
        ...
