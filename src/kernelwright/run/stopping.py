"""Stop reasons of a run, and whether the budget allows one more request. Pure arithmetic.

Each request under way counts as much as the most expensive one so far, so that a limit holds even if all of them finish
at once.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.journal import RunState
from kernelwright.journal.spending import Paid
from kernelwright.model import BUDGET_LIMITS, Budget
from kernelwright.run.spending import COSTS, under_way


class StopReason(enum.StrEnum):
    FINISHED = "finished"
    """The strategy has no more requests."""
    TRIALS = "trials"
    MINUTES = "minutes"
    TOKENS = "tokens"
    USD = "usd"
    GPU_SECONDS = "gpu_seconds"
    WAITING = "waiting"
    """Every open request waits for a reply from outside."""
    INTERRUPTED = "interrupted"
    PAUSED = "paused"
    """Paused until `resume` (`control`): ends a session in the journal, but not the call of `optimize`."""


@dataclass(frozen=True)
class Obstacle:
    """Why no new request is allowed now. It may pass: requests in flight can cost less than was reserved for them."""

    reason: StopReason
    detail: str


def obstacle(budget: Budget, state: RunState, elapsed_s: float, trials_s: Sequence[float]) -> Obstacle | None:
    """The reason why one more request does not fit the budget; None where it fits.

    elapsed_s: of the whole run, earlier sessions included. trials_s: how long each trial of this session took, in the
    order of their results. The first is ignored once there are others, because it includes the start-up.
    """
    if budget.minutes is not None:
        longest_s = max(trials_s[1:] or trials_s, default=0.0)
        if elapsed_s >= budget.minutes * 60 or elapsed_s + longest_s > budget.minutes * 60:
            detail = f"{elapsed_s / 60:.1f} of {budget.minutes:g} minutes, and a trial takes up to {longest_s:.1f} s"
            return Obstacle(StopReason.MINUTES, detail)
    if budget.usd is not None and (author := _unpriced(state)) is not None:
        return Obstacle(StopReason.USD, f"the price of {author} is not known, so a limit in USD cannot be enforced")
    for limit in BUDGET_LIMITS:
        most, cost = limit.of(budget), COSTS.get(limit.name)
        if most is None or cost is None:
            continue
        found = cost(state)
        if not _fits(found.paid, found.under_way, most - found.beside - found.expected):
            dearest = max([found.paid.most or 0, *found.under_way])
            total, each = (f"{amount:.{limit.cost_digits}f}" for amount in (found.total, dearest))
            detail = f"{total} of {limit.amount_text(most)} {limit.unit}, up to {each} each"
            return Obstacle(StopReason(limit.name), detail)
    return None


def _unpriced(state: RunState) -> str | None:
    """The first model whose tokens have no known price; None where every price is known."""
    is_unpriced = any(usage.cost_usd is None and usage.tokens > 0 for usage in under_way(state))
    return state.spending.unpriced or ("a model" if is_unpriced else None)


def _fits(paid: Paid, partial: Sequence[float], limit: float) -> bool:
    """partial: the cost of each request under way so far. While no answer's cost is known, only one request at a time
    fits, and none fits a limit of 0."""
    most = max([paid.most or 0.0, *partial])
    if paid.most is None and not any(partial):
        return limit > 0 and not partial
    return paid.total + most * len(partial) + most <= limit
