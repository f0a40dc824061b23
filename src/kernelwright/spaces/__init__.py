"""Config spaces, samplers that choose the next config to measure, and recorded spaces.

Nothing here measures: a worker does, or a recorded device replays results. To add a sampler, add a file and a line in
the table; `tests/laws` then tests it like all others.
"""

from __future__ import annotations

from kernelwright.errors import ConfigError
from kernelwright.spaces.protocol import Sampler, SamplerFactory
from kernelwright.spaces.samplers.local import Local
from kernelwright.spaces.samplers.optuna_tpe import OptunaTpe
from kernelwright.spaces.samplers.simple import exhaustive, random_draws
from kernelwright.spaces.space import Config, Space
from kernelwright.spaces.surrogate.sampler import Surrogate

SAMPLERS: dict[str, SamplerFactory] = {
    "model": Surrogate,
    "local": Local,
    "random": random_draws,
    "exhaustive": exhaustive,
    "optuna": OptunaTpe,
}


def build_sampler(name: str, space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
    """The sampler `name`. Raises `ConfigError` for an unknown sampler, or one whose extra is not installed."""
    if name not in SAMPLERS:
        raise ConfigError(f"there is no sampler {name!r}", f"choose one of {', '.join(SAMPLERS)}")
    return SAMPLERS[name](space, seed, first)
