"""What to try next. One small file per strategy; `STRATEGIES` is the table.

A strategy is made from a starter (None: the proposer is to write the first kernel), a seed and its options; the
options are documented on the record in its file. To add one: a file, and a line in the table; `tests/laws` then
holds it to the laws of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Scalar
from kernelwright.search.beam import beam
from kernelwright.search.greedy import greedy
from kernelwright.search.protocol import Strategy
from kernelwright.search.random_search import random_search

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "beam": beam,
    "greedy": greedy,
    "random": random_search,
}


def build_strategy(
    name: str, starter: Candidate | None, seed: int, options: Mapping[str, Scalar] | None = None
) -> Strategy:
    """Raises `ConfigError` for an unknown strategy, an unknown option, or a value that does not fit."""
    if name not in STRATEGIES:
        raise ConfigError(f"there is no strategy {name!r}", f"choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name](starter, seed, **(options or {}))
