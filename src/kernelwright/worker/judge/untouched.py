"""Which elements of its mutated inputs forward does not touch: a candidate has to keep their bits.

An element that forward computes may come out as it was by chance: in float16 a rotation by a small angle often does,
and infinity times any factor is infinity. So forward runs twice more in float64, with other values and with rounded
intermediate results (the hyperbolic tangent of a tiny number is that number, but for rounding). An element is untouched
only if it keeps its value there, too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kernelwright.worker.judge import elementwise, rounding
from kernelwright.worker.reference.instance import Instance, accepted, cast, is_float8, mutated, outputs
from kernelwright.worker.reference.pieces import pieces

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
    rough = accepted(lambda: rounding.roughly(cast(instance, "float64"), torch.float32, 0))
    if rough is not None and not any(source.dtype == torch.float64 for source in changed):  # whose values are rounded
        found = [mask & same_values(made, source)
                 for mask, made, source in zip(found, rough[first:], changed, strict=True)]  # fmt: skip
    other = with_other_values(instance)
    made_again = accepted(partial(outputs, other))
    if made_again is None:
        return found
    return [mask & same_values(made, source)
            for mask, made, source in zip(found, made_again[first:], mutated(other).values(), strict=True)]  # fmt: skip


def with_other_values(instance: Instance) -> Instance:
    """A copy in float64 whose floating-point inputs are a little larger, each element by another factor; numbers take
    the place of NaN and infinity. Labels and masks (whole numbers in a floating-point dtype) stay."""
    wide, inputs = cast(instance, "float64"), list[Any]()
    for position, (value, given) in enumerate(zip(wide.inputs, instance.inputs, strict=True)):
        if isinstance(value, Tensor) and value.is_floating_point():
            value = value.clone() if value is given else value
            _move(value, position)
        inputs.append(value)
    return replace(wide, inputs=tuple(inputs))


def _move(value: Tensor, seed: int) -> None:
    """In place and part by part, for the sake of memory. Equal inputs become different ones."""
    if elementwise.is_known_exactly(value):
        return
    generator = torch.Generator(device=value.device).manual_seed(seed)
    for part in pieces(value):
        factor = torch.rand(part.shape, generator=generator, device=part.device)
        part.copy_(torch.where(part.isfinite(), part * (1 + MOVED * factor), 1 + factor))


def same_values(made: Tensor, source: Tensor) -> Tensor:
    """Where two tensors of one shape have the same value; NaN is one value."""
    made, source = comparable(made), comparable(source)
    return (made == source) | (made.isnan() & source.isnan())


def comparable(value: Tensor) -> Tensor:
    """PyTorch compares no float8 with other numbers."""
    return value.float() if is_float8(value.dtype) else value
