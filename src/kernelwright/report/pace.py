"""Estimates when a search will have spent its budget, if it continues at its pace so far.

Pure arithmetic. The strategy may end the search earlier.
"""

from __future__ import annotations

from typing import NamedTuple

from kernelwright.model import Budget

ENOUGH_TRIALS = 2
"""Fewer trials give no estimate: the first one also pays for starting everything."""


class Spent(NamedTuple):
    """What a run has spent so far. trials: the finished ones."""

    seconds: float
    trials: int
    tokens: int
    usd: float
    gpu_seconds: float


def ends_in_s(budget: Budget, spent: Spent) -> float | None:
    """Seconds until the first limit is reached; None where there is no limit or too little to go by."""
    found = []
    if budget.minutes is not None:
        found.append(max(budget.minutes * 60 - spent.seconds, 0.0))
    if spent.trials >= ENOUGH_TRIALS:
        limits = (
            (budget.trials, spent.trials),
            (budget.tokens, spent.tokens),
            (budget.usd, spent.usd),
            (budget.gpu_seconds, spent.gpu_seconds),
        )
        for limit, used in limits:
            if limit is not None and used > 0:
                found.append(max(limit - used, 0.0) * spent.seconds / used)
    return min(found, default=None)
