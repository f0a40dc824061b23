"""Is an output right on a draw? The comparison of a candidate's outputs and of trivial answers.

Where each element's sensitivity is known, an error that rounding of the inputs explains is allowed at that element,
and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernelwright.worker.judge import elementwise, tolerance
from kernelwright.worker.judge.draws import Draws


@dataclass(frozen=True)
class Comparison:
    """why: the reason that the output is wrong, "" where it is right. times: how many times over the tolerance it is.
    element, allowed: in units, None where sensitivities are not known."""

    found: tolerance.Errors
    limit: tolerance.Allowed
    why: str
    times: float
    element: float | None = None
    allowed: float | None = None


def compared(draws: Draws, case: str, draw: int, output: int, actual: torch.Tensor) -> Comparison:
    """`actual` compared with what is expected of an output."""
    answer, limit = draws.answer(case, draw), draws.limit(case, draw, output)
    expected, sensitive = answer.expected[output], answer.sensitive[output]
    if answer.choices and (choice := answer.choices[output]) is not None:
        actual = choice.settled(actual, expected)

    def errors(made: torch.Tensor) -> tuple[tolerance.Errors, str]:
        found = tolerance.errors(made, expected, not answer.as_given, answer.rounded[output]).against(limit.scale)
        return found, tolerance.verdict(found, limit)

    found, why = errors(actual)
    if sensitive is None or limit.exact:
        return Comparison(found, limit, why, tolerance.excess(found, limit))
    if why:
        rest, still = errors(elementwise.without_explained(actual, expected, sensitive, actual.dtype))
        found, why = (found, why) if still else (rest, "")
    units = elementwise.in_units(actual, expected, sensitive, answer.floors[output], actual.dtype)
    allowed = elementwise.allowed(draws.own_units(case, draw, output))
    element = float(units.amax()) if units.numel() else 0.0
    why = why or elementwise.verdict(actual, expected, units, allowed)
    return Comparison(found, limit, why, max(tolerance.excess(found, limit), element / allowed), element, allowed)
