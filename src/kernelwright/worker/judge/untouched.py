"""Which elements of its mutated inputs forward does not touch: a candidate has to keep their bits.

An element that forward computes may come out as it was by chance: in float16 a rotation by a small angle often does,
and infinity times any factor is infinity. So forward runs twice more in float64, with other values and with rounded
intermediate results (the hyperbolic tangent of a tiny number is that number, but for rounding). An element is untouched
only if it keeps its value there, too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from functools import partial

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

    def kept(made: tuple[Tensor, ...], sources: Iterable[Tensor]) -> list[Tensor]:
        return [same_values(one, source) for one, source in zip(made[first:], sources, strict=True)]

    masks = [kept(produced, changed), kept(exact, changed)]
    rough = accepted(lambda: rounding.roughly(cast(instance, "float64"), torch.float32, 0))
    if rough is not None and not any(source.dtype == torch.float64 for source in changed):  # whose values are rounded
        masks.append(kept(rough, changed))
    other = with_other_values(instance)
    made_again = accepted(partial(outputs, other))
    if made_again is not None:
        masks.append(kept(made_again, mutated(other).values()))
    return [functools.reduce(torch.logical_and, of_one) for of_one in zip(*masks, strict=True)]


def with_other_values(instance: Instance) -> Instance:
    """A copy in float64 whose floating-point inputs are a little larger, each element by another factor; numbers take
    the place of NaN and infinity. Labels and masks (whole numbers in a floating-point dtype) stay."""
    wide = elementwise.copied(instance)
    for position, value in enumerate(wide.inputs):
        if isinstance(value, Tensor) and value.is_floating_point():
            _move(value, position)
    return wide


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
