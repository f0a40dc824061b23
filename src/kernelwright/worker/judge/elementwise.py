"""The tolerance for single elements: each error in units of the change that rounding of the inputs makes there.

It is used in addition to `tolerance`, which is relative to the scale of the whole output and would accept 0 for exp(-6)
where another element is 10,000. The unit of an element is eps times the sum of three numbers: its size, the typical
size of the output on the problem's own inputs, and its sensitivity. The sensitivity is how far the element moves when
every input and parameter moves by its own size; it is found in float64 along random directions. An element without a
finite sensitivity is not judged, and an error below the smallest normal number is ignored.
"""

from __future__ import annotations

import math
import random
from functools import partial

import torch
from torch import Tensor

from kernelwright.worker.judge import rounding
from kernelwright.worker.judge.fairness import half_of_digits
from kernelwright.worker.judge.tolerance import Allowed, Scale, describe, is_whole, real, sum_of_squares
from kernelwright.worker.reference import lines
from kernelwright.worker.reference.instance import Instance, accepted, cast, given, outputs, with_tensors
from kernelwright.worker.reference.pieces import CHUNK, pieces

MULTIPLE = 48.0
"""The error that is allowed, in units; times the framework's own largest error in units, if that is above 1. Nearly all
honest kernels on the CPU stay under 4; x tanh(log(1 + exp(x))) for Mish reaches 27 (docs/evaluation.md)."""

ADDED = 4.0
"""How many times a tolerance readings (`rounding`) may add to it, unless half of the digits stay. On a problem's own
inputs that is the tolerance of the whole output. On very large inputs it is that of the element without readings, and
an element that a reading moves further is left out (`fairness`)."""

EXPLAINED = {torch.float16: 2.0, torch.bfloat16: 2.0}
EXPLAINED_ELSEWHERE = 16.0
"""An error up to this many eps of an element's sensitivity is ignored on the scale of the output. A kernel in half
precision adds up in float32 and rounds only stored values, by half an eps each time."""

DIRECTIONS = 8
"""Random directions for the sensitivity, which is the largest move of all. The largest of eight normal values is below
0.1 for one of 10^9 elements; its median is 1.5."""

MOST_COUNTED = 2.0**24
"""The largest number up to which float32 has every whole one."""

STEP = 2.0**-30
"""The relative step along a direction. In float64 the difference keeps 7 digits, and a step of 1e-9 is small against
any curvature."""


def sensitivities(wide: Instance, exact: tuple[Tensor, ...], seed: int) -> list[Tensor | None]:
    """For each output, how far its elements move per relative change of all inputs, parameters and buffers.

    wide: the instance in float64; exact: its outputs. None for outputs of whole numbers, and for all outputs if the
    reference refuses a moved input.
    """
    largest = [
        None if is_whole(output.dtype) else torch.zeros_like(output, dtype=real(output.dtype)) for output in exact
    ]
    moving, stepped = _moving(wide), copied(wide)
    for direction in range(DIRECTIONS):
        for one, own in zip(_tensors(stepped), _tensors(wide), strict=True):
            one.copy_(own)
        made = _moved_outputs(stepped, f"{seed} direction {direction}", moving)
        if made is None:
            return [None] * len(exact)
        for known, moved, output in zip(largest, made, exact, strict=True):
            if known is not None:
                torch.maximum(known, (moved - output).abs() / STEP, out=known)
    return list(largest)


def scales_moved(instance: Instance, exact: list[Tensor], dtypes: list[torch.dtype], seed: int) -> list[Scale]:
    """For each output, the largest and the rms move of its elements, for cases too large for `sensitivities`.

    The moves are those along one random direction, and those by rounding forward's numbers to float32; the larger
    counts. They are 0 if the reference refuses a moved input, or where a move is not finite. dtypes: the problem's
    output dtypes. This takes memory for one float64 copy of the inputs.
    """
    made = _moved_outputs(copied(instance), f"{seed} direction", _moving(instance))
    found = [Scale(0.0, 0.0)] * len(exact)
    if made is not None:
        found = [_scale_moved(moved, before, STEP) for moved, before in zip(made, exact, strict=True)]
    del made
    if (narrow := rounding.with_narrow_numbers(instance)) is None:
        return found
    also = [_scale_moved(moved, before, 1.0 if is_whole(dtype) else torch.finfo(real(dtype)).eps)
            for moved, before, dtype in zip(outputs(cast(narrow, "float64")), exact, dtypes, strict=True)]  # fmt: skip
    return [Scale(max(one.largest, other.largest), max(one.rms, other.rms))
            for one, other in zip(found, also, strict=True)]  # fmt: skip


def _scale_moved(moved: Tensor, before: Tensor, step: float) -> Scale:
    """0 for outputs that forward itself rounds to fewer digits, which do not show a step of 1e-9."""
    is_rounded = step == STEP and moved.dtype not in (torch.float64, torch.complex128)
    if is_whole(moved.dtype) or is_rounded or before.dtype != moved.dtype or not moved.numel():
        return Scale(0.0, 0.0)
    largest, total = 0.0, 0.0
    for one, other in zip(moved.reshape(-1).split(CHUNK), before.reshape(-1).split(CHUNK), strict=True):
        distance = (one - other).abs()
        if not math.isfinite(float(distance.max()) / step):
            distance = torch.where(torch.isfinite(distance / step), distance, 0.0)
        largest = max(largest, float(distance.max()) / step)
        total += sum_of_squares(distance / step)
    return Scale(largest, math.sqrt(total / moved.numel()))


def copied(instance: Instance) -> Instance:
    """A copy of the instance in float64 that shares no tensor with it."""
    shared = {id(one) for one in instance.inputs}
    return with_tensors(cast(instance, "float64"), lambda one: one.clone() if id(one) in shared else one)


def _tensors(instance: Instance) -> list[Tensor]:
    """Inputs, parameters and buffers, to be changed in place."""
    return [tensor.data for _, tensor in given(instance)]


def _moving(instance: Instance) -> list[bool]:
    """Whether each of `_tensors` takes a step: whole numbers (labels, masks) are exact and stay, as ends of shares do
    (`_step`)."""
    return [not is_known_exactly(tensor) for tensor in _tensors(instance)]


def _moved_outputs(wide: Instance, seed: str, moving: list[bool]) -> tuple[Tensor, ...] | None:
    """Outputs after a step of inputs, parameters and buffers along one random direction; None if the reference refuses
    the moved values. Changes the instance in place. moving: as from `_moving`."""
    number = random.Random(seed).getrandbits(62)
    generators: dict[torch.device, torch.Generator] = {}
    for one, is_moved in zip(_tensors(wide), moving, strict=True):
        if one.device not in generators:
            generators[one.device] = torch.Generator(device=one.device).manual_seed(number)
        if is_moved:
            _step(one, generators[one.device])
    return accepted(partial(outputs, wide))


def _step(value: Tensor, generator: torch.Generator) -> None:
    """Move each element by a random relative step, in place; not a whole share."""
    has_ends = value.is_floating_point() and lines.are_shares(value)
    for part in pieces(value):
        along = torch.randn(part.shape, generator=generator, device=part.device).to(part.dtype)
        along = along.masked_fill_(part == 1, 0.0) if has_ends else along
        part.addcmul_(part, along, value=STEP)


def is_known_exactly(value: Tensor) -> bool:
    """Whether a tensor holds whole numbers, in any dtype: labels and masks. A float past MOST_COUNTED is whole because
    it has no digits for less, and says nothing."""
    if not value.is_floating_point():
        return is_whole(value.dtype)
    return all(bool(((part == part.round()) & (part.abs() <= MOST_COUNTED)).all()) for part in pieces(value))


def typical(expected: Tensor) -> float:
    """The median absolute value of the finite non-zero elements; 0 if there are none, and for whole numbers."""
    if is_whole(expected.dtype):
        return 0.0
    size = expected.abs().flatten()
    size = size[size.isfinite() & (size > 0)]
    return float(size.median()) if size.numel() else 0.0


def in_units(actual: Tensor, expected: Tensor, sensitivity: Tensor, floor: float, dtype: torch.dtype) -> Tensor:
    """The error of each element in its unit; 0 where error or unit is not finite, or the error is below the smallest
    normal number. floor: the output's typical size."""
    info = torch.finfo(real(dtype))
    error = (actual.to(expected.dtype) - expected).abs().double()
    unit = info.eps * (sensitivity.double() + expected.abs().double() + floor)
    sure = error.isfinite() & unit.isfinite() & (error > info.smallest_normal)
    return torch.where(sure, error / unit, 0.0)


def beyond(
    reading: Tensor, sensitivity: Tensor, expected: Tensor, floor: float, own: float, dtype: torch.dtype
) -> Tensor:
    """The elements that a reading moves so far that the next one may give infinity. reading: the moves in eps.
    sensitivity: without readings. own: as for `allowed`."""
    most = max((1 + ADDED) * allowed(own), 1 / half_of_digits(dtype))
    return torch.gt(reading, most * (sensitivity + expected.abs() + floor).double())


def allowed(own: float) -> float:
    """The allowed error of an element, in units. own: the framework's largest error in units."""
    return MULTIPLE * max(own, 1.0)


def verdict(actual: Tensor, expected: Tensor, units: Tensor, allowed: float) -> str:
    """Why an output does not pass, or "". units: the error of each element."""
    worst = int(units.argmax()) if units.numel() else 0
    if not units.numel() or float(units.flatten()[worst]) <= allowed:
        return ""
    got, wanted = actual.reshape(-1)[worst], expected.reshape(-1)[worst]
    if actual.is_complex():
        got, wanted = got.abs(), wanted.abs()
    return (f"an element is off by {float(units.flatten()[worst]):.3g} times what rounding explains there, "
            f"at most {allowed:.3g} is allowed: {describe(actual, worst, float(got), float(wanted))}")  # fmt: skip


def most_explained(limit: Allowed, dtype: torch.dtype) -> float:
    """The largest error of an element that rounding may explain on a problem's own inputs. limit: of the output."""
    return limit.scale.largest * max((1 + ADDED) * limit.max_rel, half_of_digits(dtype))


def without_explained(
    actual: Tensor, expected: Tensor, sensitivity: Tensor, dtype: torch.dtype, most: float = math.inf
) -> Tensor:  # fmt: skip
    """`actual` with the expected value at each element whose error is explained by rounding of the inputs. most: the
    largest error that may be."""
    error = (actual.to(expected.dtype) - expected).abs().double()
    eps = EXPLAINED.get(dtype, EXPLAINED_ELSEWHERE) * torch.finfo(real(dtype)).eps
    explained = eps * sensitivity.double()
    return torch.where(error <= explained.clamp(max=most), expected.to(actual.dtype), actual)
