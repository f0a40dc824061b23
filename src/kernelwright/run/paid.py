"""What a run paid for answers, request by request: proposals, answers without a proposal yet, answers abandoned. Pure.

It limits nothing (`stopping` does). The one rule: each answer counts once: in its proposal where there is one.
"""

from __future__ import annotations

from typing import NamedTuple

from kernelwright.journal import RunState
from kernelwright.model import Usage


class Paid(NamedTuple):
    """author: whose price it is."""

    author: str
    usage: Usage


def paid(state: RunState) -> list[Paid]:
    """What is over: proposals, but not candidates that came with their request, and what was abandoned."""
    given = [one for number, one in state.proposals.items() if state.requests[number].candidate is None]
    return [
        *(Paid(one.author, one.usage) for one in given),
        *(Paid("an abandoned reply", one.usage) for one in state.abandoned),
    ]


def under_way(state: RunState) -> list[Usage]:
    """Of each request that waits for its proposal, what its answers cost so far."""
    open_ones = [n for n, one in state.requests.items() if one.candidate is None and n not in state.proposals]
    return [together([answered.usage for answered in state.answers.get(number, ())]) for number in open_ones]


def dearest(state: RunState) -> Usage:
    """The most that a proposal or an answer cost, figure by figure; cost_usd is None where no price is known."""
    usages = [*(one.usage for one in paid(state)), *under_way(state)]
    costs_usd = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return Usage(
        input_tokens=max((usage.input_tokens for usage in usages), default=0),
        output_tokens=max((usage.output_tokens for usage in usages), default=0),
        cost_usd=max(costs_usd, default=None),
    )


def together(usages: list[Usage]) -> Usage:
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    return total
