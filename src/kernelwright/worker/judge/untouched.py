"""Which elements of its mutated inputs forward does not touch: a candidate has to keep their bits.

An element that forward computes may come out as it was by chance: in float16 a rotation by a small angle often does,
and infinity times any factor is infinity. So forward runs once more in float64 with other values, and an element is
untouched only if it keeps its value there, too.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from kernelwright.errors import ProblemError
from kernelwright.worker.reference.instance import Instance, cast, mutated, outputs

MOVED = 1 / 64
"""Largest relative change of a value in the second run. Signs stay, and so do most comparisons with thresholds."""


def untouched(instance: Instance, produced: tuple[Tensor, ...], exact: tuple[Tensor, ...]) -> list[Tensor]:
    """A mask for each input that forward changes in place. produced, exact: forward's outputs in the problem's dtype
    and in float64, whose last ones are these inputs."""
    changed = list(mutated(instance).values())
    if not changed:
        return []
    first = len(produced) - len(changed)
    found = [same_values(made, source) & same_values(wide, source)
             for source, made, wide in zip(changed, produced[first:], exact[first:], strict=True)]  # fmt: skip
    other = with_other_values(instance)
    try:
        made_again = outputs(other)
    except ProblemError as error:  # forward asserts something about its values
        if isinstance(error.__cause__, torch.OutOfMemoryError):
            raise
        return found
    return [mask & same_values(made, source)
            for mask, made, source in zip(found, made_again[first:], mutated(other).values(), strict=True)]  # fmt: skip


def with_other_values(instance: Instance) -> Instance:
    """A copy in float64 whose floating-point inputs are a little larger, each element by another factor; numbers take
    the place of NaN and infinity. Labels and masks (whole numbers in a floating-point dtype) stay."""
    wide = cast(instance, "float64")

    def moved(value: Tensor) -> Tensor:
        if not value.is_floating_point() or bool((value == value.round()).all()):
            return value.clone()
        generator = torch.Generator(device=value.device).manual_seed(0)
        factor = torch.rand(value.shape, generator=generator, device=value.device, dtype=value.dtype)
        return torch.where(value.isfinite(), value * (1 + MOVED * factor), 1 + factor)

    inputs = tuple(moved(value) if isinstance(value, Tensor) else value for value in wide.inputs)
    return replace(wide, inputs=inputs)


def same_values(made: Tensor, source: Tensor) -> Tensor:
    """Where two tensors of one shape have the same value; NaN is one value."""
    return (made == source) | (made.isnan() & source.isnan())
