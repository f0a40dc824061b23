"""Spending of a run per budget limit, with what is under way. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kernelwright.journal import RunState
from kernelwright.journal.fold import together
from kernelwright.journal.spending import Paid
from kernelwright.model import RunSettings, Usage


def under_way(state: RunState) -> list[Usage]:
    """For each request that waits for its proposal, the cost of its answers so far."""
    waiting = [request.number for request in state.open_requests() if request.candidate is None]
    return [together([answered.usage for answered in state.answers.get(number, ())]) for number in waiting]


class Cost(NamedTuple):
    """Spending on one limit. paid: by the requests that were answered or evaluated. under_way: by each other request so
    far. beside: not by a request. expected: as well, but not spent yet."""

    paid: Paid
    under_way: list[float]
    beside: float = 0.0
    expected: float = 0.0

    @property
    def total(self) -> float:
        return self.paid.total + sum(self.under_way) + self.beside


def tokens(state: RunState) -> Cost:
    return Cost(state.spending.tokens, [usage.tokens for usage in under_way(state)])


def usd(state: RunState) -> Cost:
    """Costs in USD; tokens without a known price cost nothing here."""
    return Cost(state.spending.usd, [usage.cost_usd or 0.0 for usage in under_way(state)])


def gpu_seconds(state: RunState) -> Cost:
    """GPU seconds. Beside the requests: the tolerances that a lane measures in its first evaluation, which are expected
    of each lane, too, and work that was lost with a lane and repeated."""
    first_s = state.spending.draws_s.values()
    waiting = sum(lane.evaluations == 0 and lane.state == "up" for lane in state.lanes.values())
    return Cost(
        state.spending.gpu_s, [0.0] * len(state.open_numbers()), state.lanes.lost_s + sum(first_s),
        expected=waiting * max(first_s, default=0.0),
    )  # fmt: skip


COSTS: dict[str, Callable[[RunState], Cost]] = {"tokens": tokens, "usd": usd, "gpu_seconds": gpu_seconds}
"""Spending by name of the limit. Trials and minutes are missing: they are not a cost of one request."""


def spent(state: RunState, elapsed_s: float, settings: RunSettings) -> dict[str, float]:
    """Spending by name of the limit. elapsed_s: of the whole run. trials: the finished ones that count."""
    costs = {name: cost(state).total for name, cost in COSTS.items()}
    trials = sum(settings.counts(trial.request) for trial in state.told.values())
    return {"trials": trials, "minutes": elapsed_s / 60, **costs}
