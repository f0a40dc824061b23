"""Search strategies: they decide which request comes next. One small file per strategy; `STRATEGIES` is the table.

A strategy is built from a starter (None: the proposer writes the first kernel), a seed, known kernels and options. The
options are documented on the options record in the strategy's file. To add a strategy, add a file and a line in the
table; `tests/laws` then runs the common tests on it.
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
"""Default options, of all but random, where the proposer writes code: the portfolio chooses operators, and each
new structure gets 4 tunings before it is judged. A proposer that only varies numbers needs neither."""


FOR_NUMBERS: dict[str, Scalar] = {"ahead": 4}
"""Default options, of all but random, where the proposer only varies numbers: with `ahead`, a GPU does not wait
for the last trial of a round. With equal trials this showed no loss on four recorded spaces; a simulated proposer that
writes code lost 2 to 20 % (docs/searching.md)."""


def build_strategy(
    name: str,
    starter: Candidate | None,
    seed: int,
    options: Mapping[str, Scalar] | None = None,
    known: Sequence[Candidate] = (),
) -> Strategy:
    """The strategy with this name. known: kernels that are judged after the starter, as further seeds.

    Raises `ConfigError` for an unknown strategy, an unknown option, or a value that does not fit.
    """
    if name not in STRATEGIES:
        raise ConfigError(f"there is no strategy {name!r}", f"choose one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name](starter, seed, known, **(options or {}))
