"""Why a run stops, and whether a budget leaves room for one more request. Pure arithmetic.

What is under way counts as if it were the most expensive so far, so that a limit holds also when all of it comes back
at once.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.journal import RunState
from kernelwright.model import BUDGET_LIMITS, Budget
from kernelwright.run.spending import COSTS, Paid, paid, under_way


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
    """Paused until `resume` (`control`): the end of a session in the journal, not of `optimize`."""


@dataclass(frozen=True)
class Obstacle:
    """Why nothing more may be asked now. It may pass: what is in flight can turn out cheaper than was reserved."""

    reason: StopReason
    detail: str


def obstacle(budget: Budget, state: RunState, elapsed_s: float, trials_s: Sequence[float]) -> Obstacle | None:
    """None where one more request fits.

    elapsed_s: of the whole run, earlier sessions included. trials_s: how long each trial of this session took, in
    the order of their results; the first is left out once there are others, because it pays for starting everything up.
    """
    if budget.trials is not None and len(state.requests) >= budget.trials:
        return Obstacle(StopReason.TRIALS, f"{len(state.requests)} of {budget.trials} trials")
    if budget.minutes is not None:
        longest_s = max(trials_s[1:] or trials_s, default=0.0)
        if elapsed_s >= budget.minutes * 60 or elapsed_s + longest_s > budget.minutes * 60:
            detail = f"{elapsed_s / 60:.1f} of {budget.minutes:g} minutes, and a trial takes up to {longest_s:.1f} s"
            return Obstacle(StopReason.MINUTES, detail)
    if budget.usd is not None and (author := _unpriced(state)) is not None:
        return Obstacle(StopReason.USD, f"the price of {author} is not known, so no limit in USD can hold")
    for limit in BUDGET_LIMITS:
        most, cost = limit.of(budget), COSTS.get(limit.name)
        if most is None or cost is None:
            continue
        found = cost(state)
        if not _fits(found.used, found.under_way, most - found.beside):
            dearest = max([*found.used, *found.under_way], default=0)
            total, each = (f"{amount:.{limit.cost_digits}f}" for amount in (found.total, dearest))
            detail = f"{total} of {limit.amount_text(most)} {limit.unit}, up to {each} each"
            return Obstacle(StopReason(limit.name), detail)
    return None


def _unpriced(state: RunState) -> str | None:
    """The models whose tokens have no known price."""
    every = [*paid(state), *(Paid("a model", usage) for usage in under_way(state))]
    return next((one.author for one in every if one.usage.cost_usd is None and one.usage.tokens > 0), None)


def _fits(used: Sequence[float], partial: Sequence[float], limit: float) -> bool:
    """partial: what each request under way has cost so far. While no answer's size is known, one request at a time is
    let through, and none for a limit of nothing."""
    most = max([*used, *partial], default=0.0)
    if not used and not any(partial):
        return limit > 0 and not partial
    return sum(used) + most * len(partial) + most <= limit
