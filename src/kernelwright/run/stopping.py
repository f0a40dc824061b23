"""Why a run stops, and whether a budget leaves room for one more request. Pure arithmetic.

It counts nothing itself and stops nothing. The one rule: what is in flight counts as if it were the most expensive
seen so far, so that a limit holds also when everything under way comes back at once.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.journal import RunState
from kernelwright.model import Budget
from kernelwright.run.paid import Paid, paid, under_way
from kernelwright.search.convergence import gpu_s


class StopReason(str, enum.Enum):
    FINISHED = "finished"
    """The strategy has nothing more to ask."""
    TRIALS = "trials"
    MINUTES = "minutes"
    TOKENS = "tokens"
    USD = "usd"
    GPU_SECONDS = "gpu_seconds"
    WAITING = "waiting"
    """Every open request waits for a reply from outside."""
    INTERRUPTED = "interrupted"
    PAUSED = "paused"
    """Held until somebody lets it go on (`control`): the end of a session in the journal, not of `optimize`."""


@dataclass(frozen=True)
class Obstacle:
    """Why nothing more may be asked now. It may pass: what is in flight can turn out cheaper than was reserved."""

    reason: StopReason
    detail: str


def obstacle(budget: Budget, state: RunState, elapsed_s: float, trials_s: Sequence[float]) -> Obstacle | None:
    """None where one more request fits.

    elapsed_s: of the whole run, earlier sessions included. trials_s: how long each trial of this session took, in
    the order told; the first is left out once there are others, because it pays for starting everything up.
    """
    if budget.trials is not None and len(state.requests) >= budget.trials:
        return Obstacle(StopReason.TRIALS, f"{len(state.requests)} of {budget.trials} trials")
    if budget.minutes is not None:
        longest_s = max(trials_s[1:] or trials_s, default=0.0)
        if elapsed_s >= budget.minutes * 60 or elapsed_s + longest_s > budget.minutes * 60:
            detail = f"{elapsed_s / 60:.1f} of {budget.minutes:g} minutes, and a trial takes up to {longest_s:.1f} s"
            return Obstacle(StopReason.MINUTES, detail)
    return _tokens(budget, state) or _usd(budget, state) or _gpu_seconds(budget, state)


def _tokens(budget: Budget, state: RunState) -> Obstacle | None:
    if budget.tokens is None:
        return None
    used, open_ones = paid(state), under_way(state)
    counts, partial = [one.usage.tokens for one in used], [usage.tokens for usage in open_ones]
    if not _fits(counts, partial, budget.tokens):
        total, most = sum(counts) + sum(partial), max([*counts, *partial], default=0)
        return Obstacle(StopReason.TOKENS, f"{total} of {budget.tokens} tokens, up to {most} each")
    return None


def _usd(budget: Budget, state: RunState) -> Obstacle | None:
    if budget.usd is None:
        return None
    used, open_ones = paid(state), under_way(state)
    for one in [*used, *(Paid("a model", usage) for usage in open_ones)]:
        if one.usage.cost_usd is None and one.usage.tokens > 0:
            return Obstacle(StopReason.USD, f"the price of {one.author} is not known, so no limit in USD can hold")
    costs, partial = [one.usage.cost_usd or 0.0 for one in used], [usage.cost_usd or 0.0 for usage in open_ones]
    if not _fits(costs, partial, budget.usd):
        total, most = sum(costs) + sum(partial), max([*costs, *partial], default=0.0)
        return Obstacle(StopReason.USD, f"{total:.4f} of {budget.usd:g} USD, up to {most:.4f} each")
    return None


def _gpu_seconds(budget: Budget, state: RunState) -> Obstacle | None:
    if budget.gpu_seconds is None:
        return None
    seen = state.profiled()
    used = [gpu_s(evaluation, seen.get(number, ())) for number, evaluation in state.evaluations.items()]
    if not _fits(used, [0.0] * len(state.open_numbers()), budget.gpu_seconds):
        detail = f"{sum(used):.1f} of {budget.gpu_seconds:g} GPU seconds, up to {max(used, default=0.0):.1f} each"
        return Obstacle(StopReason.GPU_SECONDS, detail)
    return None


def _fits(used: Sequence[float], partial: Sequence[float], limit: float) -> bool:
    """partial: what each request under way has cost so far. While no answer's size is known, one request at a time is
    let through, and none for a limit of nothing."""
    most = max([*used, *partial], default=0.0)
    if not used and not any(partial):
        return limit > 0 and not partial
    return sum(used) + most * len(partial) + most <= limit
