"""Search strategies: what to try next. One small file per strategy; `STRATEGIES` is the table.

A strategy is made from a starter (None: the proposer is to write the first kernel), a seed, known kernels and its
options; the options are documented on the record in its file. To add one: a file, and a line in the table; `tests/laws`
then holds it to the laws of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Scalar
from kernelwright.search.beam import beam
from kernelwright.search.evolve import evolve
from kernelwright.search.greedy import greedy
from kernelwright.search.protocol import Strategy
from kernelwright.search.random_search import random_search

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "beam": beam,
    "evolve": evolve,
    "greedy": greedy,
    "random": random_search,
}

FOR_WRITERS: dict[str, Scalar] = {"operators": "portfolio", "tuning": 4}
"""Options of the strategies that search in rounds, where the proposer writes code: a choice of operators, and tunings
before a structure is judged. A proposer that varies numbers only needs neither."""


FOR_NUMBERS: dict[str, Scalar] = {"ahead": 4}
"""The same where it varies numbers only: a GPU does not wait for the last of a round. At equal trials that lost nothing
that could be seen on four recorded spaces, and a simulated writer of code 2 to 20 % (docs/searching.md)."""


def options_for_numbers(name: str) -> dict[str, Scalar]:
    return {} if name == "random" else FOR_NUMBERS


def options_for_writers(name: str) -> dict[str, Scalar]:
    return {} if name == "random" else FOR_WRITERS


def build_strategy(
    name: str,
    starter: Candidate | None,
    seed: int,
    options: Mapping[str, Scalar] | None = None,
    known: Sequence[Candidate] = (),
) -> Strategy:
    """known: kernels that are judged after the starter, as further seeds.

    Raises `ConfigError` for an unknown strategy, an unknown option, or a value that does not fit."""
    if name not in STRATEGIES:
        raise ConfigError(f"there is no strategy {name!r}", f"choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name](starter, seed, known, **(options or {}))
