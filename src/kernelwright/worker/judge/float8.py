"""Which float8 values are right: those to which a value that rounding explains is rounded.

A float8 has three bits or two. With the tolerance of other dtypes, a few of its eps, nearly any value would pass. So
the value before its rounding to float8 is computed in float64, and may be off by a few eps of the dtype that a kernel
computes in, in the units of `elementwise`. What the reference and PyTorch themselves give is right, too.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kernelwright.worker.judge import elementwise, tf32
from kernelwright.worker.reference.instance import Instance, accepted, cast, given, is_float8, outputs


@dataclass(frozen=True)
class Rounded:
    """Of one float8 output: the least and the largest right value of each element, in float32. beyond: finite values
    past the largest number of the dtype: PyTorch makes infinity, NaN or that number of them, depending on its version
    and the dtype, and a kernel that number."""

    least: Tensor
    largest: Tensor
    beyond: Tensor


def rounded(instance: Instance, produced: Sequence[Tensor], exact: Sequence[Tensor]) -> list[Rounded | None]:
    """For each output; None if its dtype is not float8. produced: PyTorch's outputs. exact: those in float64."""
    found: list[Rounded | None] = [None] * len(exact)
    if not any(is_float8(one.dtype) for one in produced):
        return found
    wide = replace(cast(instance, "float64"), before_float8=True)
    before, moves = accepted(lambda: outputs(wide)), list[Tensor | None]([None] * len(exact))
    if before is None or [one.shape for one in before] != [one.shape for one in exact]:
        before = tuple(exact)  # forward reads the bits of a float8, or needs its dtype
    else:
        moves = elementwise.sensitivities(wide, before, 0)
    dtype = _computed_in(instance)
    eps = elementwise.EXPLAINED.get(dtype, elementwise.EXPLAINED_ELSEWHERE) * torch.finfo(dtype).eps
    others = [produced, exact, *([tf32.outputs_with_tf32(instance)] if tf32.is_used(instance) else [])]
    for position, (value, move) in enumerate(zip(before, moves, strict=True)):
        if not is_float8(produced[position].dtype):
            continue
        info = torch.finfo(produced[position].dtype)
        move = torch.zeros_like(value) if move is None else move.nan_to_num(0.0, 0.0, 0.0)
        off = eps * (move + value.abs() + elementwise.typical(value))
        near = [(value + side * off).clamp(info.min, info.max).to(produced[position].dtype).float()
                for side in (-1, 1)]  # fmt: skip
        right = [one[position].float() for one in others]
        found[position] = Rounded(
            least=functools.reduce(torch.minimum, right, near[0]),
            largest=functools.reduce(torch.maximum, right, near[1]),
            beyond=value.isfinite() & (value.abs() > info.max * (1 + info.eps / 4)),
        )
    return found


def _computed_in(instance: Instance) -> torch.dtype:
    """The coarsest dtype of the inputs and parameters, in which a kernel may hold intermediate results."""
    dtypes = {tensor.dtype for _, tensor in given(instance) if tensor.is_floating_point()}
    return max(
        (one for one in dtypes if not is_float8(one)), key=lambda one: torch.finfo(one).eps, default=torch.float32
    )
