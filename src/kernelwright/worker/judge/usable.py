"""The draw that is used: of the distribution that is asked for, or of a milder one.

A distribution on which the reference gives mostly NaN, or too few elements can be judged fairly (`fairness`), is not
used to judge a candidate; the next milder distribution is drawn instead. For very large values, no operator may
overflow in float32.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.errors import ProblemError
from kernelwright.model import Case
from kernelwright.worker.judge import elementwise, fairness, tolerance
from kernelwright.worker.judge.answer import Answer, judged, with_sensitivity
from kernelwright.worker.judge.choices import keeping
from kernelwright.worker.reference import signal, values, varied, weights
from kernelwright.worker.reference.drawn import require_same_sizes
from kernelwright.worker.reference.instance import Instance, Specs, Watching, accepted, cast, outputs
from kernelwright.worker.reference.load import LoadedProblem

WIDENED = 8
"""The range of float64's exponents over float32's. Where an operator overflows on values whose exponent is as many
times as large, a kernel overflows in float32. PyTorch itself may not: it computes some operators in a wider type. All
these values are positive: silu(-1e31) * 1e31 is 0, but not for a kernel that multiplies in another order."""

SAME_TWICE = 1e-6
"""Share of an output's scale by which two calls in float64 may differ, because sums may add up in any order."""


def answered(
    problem: LoadedProblem, case: Case, *, seed: int, device: str, distribution: str,
    sensitive: bool = False, floors: list[float] | None = None, gains: dict[str, float] | None = None,
    known: tuple[str, list[tolerance.Errors]] | None = None, labels: dict[int, list[int]] | None = None,
    has_float16: bool = False, most_left_out: float = fairness.MOST_LEFT_OUT,
) -> Answer:  # fmt: skip
    """A draw from `distribution` or, if that is not usable, from the first usable one of `values.fallbacks`.

    sensitive: whether to find each element's sensitivity. floors: the outputs' typical sizes, if known. gains: of
    parameters (`signal`). known: the distribution that was usable and the errors, where this draw was made before: only
    its tensors are made again. labels: `varied.sentinels`.
    has_float16: whether an input is in float16. most_left_out: of an output, with what any value agrees with.
    """

    def drawn(tried: str, widened: int = 1) -> Instance:
        instance = problem.instance(case, seed=seed, device=device)
        signal.apply(instance.module, gains or {})
        weights.redraw(instance.module, tried, seed)
        if tried in (values.VARIED, values.VARIED_PARTS):
            varied.vary(instance, seed)
            varied.place(instance, (labels or {}) if tried == values.VARIED else {}, seed)
        instance = instance if widened == 1 else cast(instance, "float64")
        values.redraw(instance.inputs, tried, seed, widened=widened)
        return instance

    if known is not None:
        return judged(drawn(known[0]), *known)

    def measured(answer: Answer) -> Answer:
        with keeping(answer.picks):
            if sensitive:
                return with_sensitivity(answer, seed, floors)
            moved = elementwise.scales_moved(answer.instance, answer.expected, answer.dtypes, seed)
        return replace(answer, own=[replace(own, moved=one) for own, one in zip(answer.own, moved, strict=True)])

    def usable(tried: str) -> Answer | None:
        answer = judged(drawn(tried), tried)
        answer.labels = (labels or {}) if tried == values.VARIED else {}
        few = fairness.MOST_LEFT_OUT if sensitive else 0.0
        if any(own.finite < fairness.LEAST_FINITE for own in answer.own) or fairness.share_of(answer.left_out) > few:
            return None
        if tried in values.MAGNITUDES and overflows(answer.instance, drawn(tried, widened=WIDENED)):
            return None
        answer = measured(answer)
        is_infinite = tried in values.SPECIALS or (tried in values.INFINITE and any(o.finite < 1 for o in answer.own))
        if is_infinite and any(map(tolerance.is_quantized, answer.dtypes)):
            return None  # devices differ in the whole number or float8 that a NaN or an infinity becomes
        is_few = fairness.share_of(answer.left_out) <= few and fairness.share_of(answer.unjudged) <= most_left_out
        return answer if is_few else None

    for tried in values.fallbacks(distribution, has_float16):
        # No draw is usable if the reference asserts something about its inputs.
        if tried != values.AS_GIVEN and (answer := accepted(partial(usable, tried))) is not None:
            return answer
    return measured(judged(drawn(values.AS_GIVEN)))


def refuse_random(instance: Instance, random: list[str]) -> None:
    """Raise `ProblemError` if two calls of forward differ. random: the operators in it that draw random numbers."""
    wide = cast(instance, "float64")
    for one, other in zip(outputs(wide), outputs(wide), strict=True):
        found = tolerance.errors(one, other)
        if found.special or found.max_abs > SAME_TWICE * found.scale.largest:
            raise ProblemError(
                f"{instance.file}: forward draws random numbers ({', '.join(random)}), which no kernel can reproduce",
                "make them an input that get_inputs draws; dropout is off because the module is in eval mode",
            )


def overflows(instance: Instance, widened: Instance) -> bool:
    """Whether an operator of forward gives infinity or NaN on `widened` that it does not give on `instance`."""
    fewer, more = not_finite(cast(instance, "float64")), not_finite(widened)
    return len(fewer) != len(more) or any(one < other for one, other in zip(fewer, more, strict=True))


def not_finite(instance: Instance) -> list[int]:
    """For each result of an operator in forward, how many of its elements are NaN or infinite."""
    found: list[int] = []

    def see(func: Any, args: Any, named: Any, made: Any) -> None:
        floats = [one for one in tree_leaves(made) if isinstance(one, torch.Tensor) and one.is_floating_point()]
        found.extend(0 if "empty" in func.__name__ else int((~one.isfinite()).sum()) for one in floats)

    with Watching(see):
        outputs(instance)
    return found


def as_described(answer: Answer, case: str, described: Specs) -> Answer:
    """`answer`; raises `ProblemError` if the shapes of its inputs or outputs differ from `described`, which were found
    with another seed: one plan cannot serve both."""
    require_same_sizes(answer.instance.file, case, described, answer.instance.inputs, answer.expected)
    return answer
