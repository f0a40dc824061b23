"""The comparison of one output with the expected output of a draw, for candidates and for trivial answers.

Where each element's sensitivity is known, an element may have an error that rounding of the inputs explains, and no
larger one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from kernelwright.worker.judge import elementwise, fairness, tolerance
from kernelwright.worker.judge.choices import nearest
from kernelwright.worker.judge.draws import Draws


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    why: the reason why the output is wrong, "" if it is right. times: the error as a multiple of the tolerance; above 1
    the output is wrong. element, allowed: the largest error of an element and its limit, in units of `elementwise`;
    None if sensitivities are not known.
    """

    found: tolerance.Errors
    limit: tolerance.Allowed
    why: str
    times: float
    element: float | None = None
    allowed: float | None = None


def compared(
    draws: Draws, case: str, draw: int, output: int, actual: torch.Tensor, alike: Sequence[torch.Tensor] = ()
) -> Comparison:
    """Compare `actual` with the expected output number `output` of a draw. alike: see `Draws.chosen_alike`."""
    answer, limit = draws.answer(case, draw), draws.limit(case, draw, output)
    expected, sensitive = answer.expected[output], answer.sensitive[output]
    if answer.choices and (choice := answer.choices[output]) is not None:
        actual = choice.settled(actual, expected)
    left_out = answer.left_out[output]
    actual, expected = fairness.without(actual, left_out), fairness.without(expected, left_out)
    others = [*(answer.others[output] if answer.others else ()), *alike[output : output + 1]]
    expected = nearest(actual, expected, [fairness.without(one, left_out) for one in others])

    def errors(made: torch.Tensor) -> tuple[tolerance.Errors, str]:
        found = tolerance.errors(made, expected, answer.is_lenient, answer.rounded[output], limit.scale)
        return found, tolerance.verdict(found, limit)

    found, why = errors(actual)
    if sensitive is None or limit.exact:
        return Comparison(found, limit, why, tolerance.excess(found, limit))
    if why and found.rms_rel <= limit.most_rms:
        most = elementwise.most_explained(limit, actual.dtype) if answer.as_given else math.inf
        rest, still = errors(elementwise.without_explained(actual, expected, sensitive, actual.dtype, most))
        found, why = (found, why) if still else (rest, "")
    units = elementwise.in_units(actual, expected, sensitive, answer.floors[output], actual.dtype)
    allowed = elementwise.allowed(draws.own_units(case, draw, output))
    element = float(units.amax()) if units.numel() else 0.0
    why = why or elementwise.verdict(actual, expected, units, allowed)
    return Comparison(found, limit, why, max(tolerance.excess(found, limit), element / allowed), element, allowed)
