"""One draw of a case as the judge knows it: inputs, expected outputs in float64, and how far the framework is off.

It judges nothing. The one rule: a distribution that the reference does not bear in the problem's dtype (it overflows,
or gives NaN nearly everywhere) is not held against a candidate; the next milder one is drawn instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from kernelwright.errors import ProblemError
from kernelwright.model import Case
from kernelwright.worker import tolerance, values
from kernelwright.worker.instance import Instance, cast, outputs
from kernelwright.worker.load import LoadedProblem

LEAST_FINITE = 0.5
"""Where fewer of the expected outputs are finite, a comparison says little."""

HEADROOM = 0.5
"""Expected values above this share of the dtype's largest leave a rounding error away from infinity."""


@dataclass
class Answer:
    """distribution: what was drawn in the end. expected: float64, or float32 for half-precision outputs. own: the
    framework's own error for each output. dtypes: what a candidate has to return. rounded: the framework's own result
    where it is whole numbers other than float64's, as right as those; None elsewhere."""

    instance: Instance
    distribution: str
    expected: list[torch.Tensor]
    own: list[tolerance.Errors]
    dtypes: list[torch.dtype]
    rounded: list[torch.Tensor | None]
    nbytes: int

    @property
    def as_given(self) -> bool:
        return self.distribution == values.AS_GIVEN


def answered(
    problem: LoadedProblem, case: Case, *, seed: int, device: str, dtype: str | None, distribution: str
) -> Answer:
    """A draw from `distribution`, or from the mildest that the reference bears."""

    def drawn(tried: str) -> Instance:
        instance = problem.instance(case, seed=seed, device=device, dtype=dtype)
        values.vary_buffers(instance.module, seed)
        values.redraw(instance.inputs, tried, seed)
        return instance

    for tried in values.fallbacks(distribution):
        answer = None  # the memory of one that was not usable is needed for the next
        if tried == values.AS_GIVEN:
            break
        try:
            answer = judged(drawn(tried), tried)
        except ProblemError as error:
            if out_of_memory(error):
                raise
            continue  # the reference asserts something about its inputs
        if tried == values.SPECIAL and any(map(tolerance.is_whole, answer.dtypes)):
            continue  # what a NaN becomes as a whole number, no two devices agree on
        if all(map(usable, answer.own, answer.dtypes)):
            return answer
    return judged(drawn(values.AS_GIVEN))


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, in our own code or in the problem's."""
    return isinstance(error, torch.OutOfMemoryError) or isinstance(error.__cause__, torch.OutOfMemoryError)


def judged(instance: Instance, distribution: str = values.AS_GIVEN) -> Answer:
    """Expected outputs in float64 and the framework's own error in the instance's dtype."""
    produced = framework_outputs(instance)
    exact = outputs(cast(instance, "float64"))
    lenient = distribution != values.AS_GIVEN
    own = [tolerance.errors(p, e, lenient) for p, e in zip(produced, exact, strict=True)]
    widest = [p.dtype in tolerance.WIDEST for p in produced]
    if any(widest):
        coarse = in_float32(instance, exact, lenient) or own
        own = [_narrowed(o, c) if w else o for o, c, w in zip(own, coarse, widest, strict=True)]
    halves = (torch.float16, torch.bfloat16)
    expected = [e.float() if p.dtype in halves and e.is_floating_point() else e
                for p, e in zip(produced, exact, strict=True)]  # fmt: skip
    rounded = [p if o.max_abs and tolerance.is_whole(p.dtype) else None for p, o in zip(produced, own, strict=True)]
    tensors = [t for t in (*instance.inputs, *expected, *rounded) if isinstance(t, torch.Tensor)]
    return Answer(
        instance=instance, distribution=distribution, expected=expected, own=own,
        dtypes=[p.dtype for p in produced], rounded=rounded, nbytes=sum(t.nbytes for t in tensors),
    )  # fmt: skip


def in_float32(instance: Instance, exact: tuple[torch.Tensor, ...], lenient: bool) -> list[tolerance.Errors]:
    """The framework's errors in float32; none where it refuses float32."""
    try:
        produced = outputs(cast(instance, "float32"))
    except ProblemError as error:
        if out_of_memory(error):
            raise
        return []
    return [tolerance.errors(p, e, lenient) for p, e in zip(produced, exact, strict=True)]


def _narrowed(own: tolerance.Errors, coarse: tolerance.Errors) -> tolerance.Errors:
    """The framework's error in float64, for want of anything wider to compare with: that of float32, by the ratio of
    the two precisions; where it does not bear float32, what two runs in float64 differ by."""
    if coarse.special:
        return own
    ratio = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps
    return replace(own, max_abs=coarse.max_abs * ratio, rms_abs=coarse.rms_abs * ratio)


def usable(own: tolerance.Errors, dtype: torch.dtype) -> bool:
    """Whether the framework, in `dtype`, agrees with float64 on where the output is finite, and most of it is."""
    if own.special or own.finite < LEAST_FINITE:
        return False
    return tolerance.is_whole(dtype) or own.scale.largest <= HEADROOM * torch.finfo(dtype).max


def framework_outputs(instance: Instance) -> tuple[torch.Tensor, ...]:
    """What eager PyTorch gives; where the CPU has no half-precision kernel, float32 rounded to the dtype."""
    try:
        return outputs(instance)
    except ProblemError as error:
        if "not implemented for" not in str(error):
            raise
        wide = outputs(cast(instance, "float32"))
        dtype = next(v.dtype for v in instance.inputs if isinstance(v, torch.Tensor) and v.is_floating_point())
        return tuple(w.to(dtype) if w.is_floating_point() else w for w in wide)
