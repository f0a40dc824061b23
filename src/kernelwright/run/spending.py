"""Spending of a run per budget limit, and the cost of answers. Pure.

Each answer counts once: as part of its proposal where there is one. `stopping` compares with the limits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kernelwright.journal import RunState
from kernelwright.journal.fold import together
from kernelwright.model import RunSettings, Usage
from kernelwright.search.convergence import draws_s, gpu_s


class Paid(NamedTuple):
    """The cost of an answer. author: the model, which determines the price."""

    author: str
    usage: Usage


def paid(state: RunState) -> list[Paid]:
    """Costs of finished proposals and of abandoned replies. Candidates that came with their request cost nothing."""
    given = [one for number, one in state.proposals.items() if state.requests[number].candidate is None]
    return [
        *(Paid(one.author, one.usage) for one in given),
        *(Paid("an abandoned reply", one.usage) for one in state.abandoned),
    ]


def under_way(state: RunState) -> list[Usage]:
    """For each request that waits for its proposal, the cost of its answers so far."""
    open_ones = [n for n, one in state.requests.items() if one.candidate is None and n not in state.proposals]
    return [together([answered.usage for answered in state.answers.get(number, ())]) for number in open_ones]


class Cost(NamedTuple):
    """Spending on one limit. used: by each request that was answered or evaluated. under_way: by each other request so
    far. beside: not by a request. expected: as well, but not spent yet."""

    used: list[float]
    under_way: list[float]
    beside: float = 0.0
    expected: float = 0.0

    @property
    def total(self) -> float:
        return sum(self.used) + sum(self.under_way) + self.beside


def tokens(state: RunState) -> Cost:
    return Cost([one.usage.tokens for one in paid(state)], [usage.tokens for usage in under_way(state)])


def usd(state: RunState) -> Cost:
    """Costs in USD; tokens without a known price cost nothing here."""
    return Cost(
        [one.usage.cost_usd or 0.0 for one in paid(state)], [usage.cost_usd or 0.0 for usage in under_way(state)]
    )


def gpu_seconds(state: RunState) -> Cost:
    """GPU seconds. Beside the requests: the tolerances that a lane measures in its first evaluation, which are expected
    of each lane, too, and work that was lost with a lane and repeated."""
    profiles, used = state.profiled(), list[float]()
    first_s: dict[str, float] = {}
    for number, evaluation in state.evaluations.items():
        measured_s, is_first = draws_s(evaluation), evaluation.lane not in first_s
        if measured_s and is_first:
            first_s[evaluation.lane] = measured_s
        used.append(gpu_s(evaluation, profiles.get(number, ())) - measured_s * is_first)
    waiting = sum(lane.evaluations == 0 and lane.state == "up" for lane in state.lanes.values())
    return Cost(
        used, [0.0] * len(state.open_numbers()), state.lanes.lost_s + sum(first_s.values()),
        expected=waiting * max(first_s.values(), default=0.0),
    )  # fmt: skip


COSTS: dict[str, Callable[[RunState], Cost]] = {"tokens": tokens, "usd": usd, "gpu_seconds": gpu_seconds}
"""Spending by name of the limit. Trials and minutes are missing: they are not a cost of one request."""


def spent(state: RunState, elapsed_s: float, settings: RunSettings) -> dict[str, float]:
    """Spending by name of the limit. elapsed_s: of the whole run. trials: the finished ones that count."""
    costs = {name: cost(state).total for name, cost in COSTS.items()}
    trials = sum(settings.counts(trial.request) for trial in state.told.values())
    return {"trials": trials, "minutes": elapsed_s / 60, **costs}
