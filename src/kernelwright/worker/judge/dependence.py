"""Whether the reference's outputs depend on a tensor: its outputs in float64 with other values in the tensor's place.

A parameter on which no output depends is *dead*, and so is an input that forward gives to no operator. A layer norm
after a convolution takes its bias away, and leaves rounding errors, which grow with the bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from kernelwright.worker.judge import tolerance
from kernelwright.worker.judge.draws import PERIOD, Draws
from kernelwright.worker.judge.rounding import roughly
from kernelwright.worker.reference.instance import Instance, Watching, accepted, cast, given, outputs, ran, with_copies

DEAD_FACTORS = (1000.0, -1.0)
"""Factors for a parameter, to test whether it changes the outputs; zeros and other values are tried too."""

DEAD_CHANGE = 2.0**-30
"""Share of an output's scale by which a dead parameter may change it. float64 keeps 16 digits; adding and subtracting
1000 times a value costs 3 of them, and dividing by the deviation of nearly equal values 3 more."""

DEAD_ROUNDINGS = 16.0
"""Or how many times as much as rounding in float64 changes it: a layer norm takes a bias away, and leaves the rounding
errors of a bias that a draw made a million times as large."""

DEAD_MOST = 2.0**-6
"""But never more than this: rounding that moves a value over a step may change an output by all of its size."""


def is_dead(draws: Draws, case: str, position: int) -> bool:
    """Whether no output depends on an input, parameter or buffer: in float64, on every draw that every candidate meets,
    other values change it by no more than rounding."""
    for draw in draws.draws_for_everyone(case):
        wide = cast(draws.answer(case, draw).instance, "float64")
        tensor = given(wide)[position][1]
        others = [perturbed(tensor), torch.zeros_like(tensor)]
        if not tolerance.is_whole(tensor.dtype):
            again = given(draws.answer(case, 0 if draw == PERIOD else PERIOD).instance)[position][1]
            others += [again.to(tensor.dtype), *(tensor * factor for factor in DEAD_FACTORS)]
        before = outputs(wide)
        if not all(_is_same(wide, position, other, before) for other in others):
            return False
    return True


def is_read(draws: Draws, case: str, position: int) -> bool:
    """Whether forward gives an input to an operator. Library blocks take arguments that only other classes use."""
    instance = with_copies(draws.answer(case, 0).instance)
    tensor, taken = given(instance)[position][1], list[Any]()
    with Watching(lambda func, args, named, made: taken.extend(tree_leaves((args, named)))):
        ran(instance)
    return any(one is tensor for one in taken)


def _is_same(wide: Instance, position: int, other: Tensor, before: tuple[Tensor, ...]) -> bool:
    """Whether outputs with `other` in place of a tensor differ from `before` by no more than rounding in float64."""
    made = accepted(partial(outputs_with, wide, position, other, outputs))
    if made is None:
        return False
    changes = [_change(one, old) for one, old in zip(made, before, strict=True)]
    if max(changes) <= DEAD_CHANGE or math.isinf(max(changes)):
        return max(changes) <= DEAD_CHANGE
    old_noise = _rounding(wide, position, given(wide)[position][1], before)
    noise = map(max, old_noise, _rounding(wide, position, other, made))
    return all(
        one <= max(DEAD_CHANGE, min(DEAD_ROUNDINGS * most, DEAD_MOST)) for one, most in zip(changes, noise, strict=True)
    )


def _rounding(wide: Instance, position: int, tensor: Tensor, exact: tuple[Tensor, ...]) -> list[float]:
    """How far rounding in float64 moves each output, as a share of its scale; 0 where that is no number."""
    rough = accepted(partial(outputs_with, wide, position, tensor, partial(roughly, dtype=torch.float64, seed=0)))
    moved = [0.0] * len(exact) if rough is None else list(map(_change, rough, exact))
    return [one if math.isfinite(one) else 0.0 for one in moved]


def _change(made: Tensor, before: Tensor) -> float:
    """The largest change of an output, as a share of its scale; infinite if whole numbers or NaN change."""
    if not (made.is_floating_point() or made.is_complex()):
        return 0.0 if torch.equal(made, before) else math.inf
    found = tolerance.errors(made, before)
    return math.inf if found.special else found.max_rel


def outputs_with(
    instance: Instance, position: int, other: Tensor, ask: Callable[[Instance], tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """`ask` of the instance with `other` in place of one tensor. position: of the tensor in `given`."""
    name, tensor = given(instance)[position]
    if name.startswith("input "):
        inputs = tuple(other if value is tensor else value for value in instance.inputs)
        return ask(replace(instance, inputs=inputs))
    kept = tensor.data
    tensor.data = other.to(kept.device)
    try:
        return ask(instance)
    finally:
        tensor.data = kept


def perturbed(tensor: Tensor) -> Tensor:
    """Other values for a tensor: booleans are negated, integers reversed in order, floats changed by random values."""
    if tensor.dtype == torch.bool:
        return tensor.logical_not()
    if tolerance.is_whole(tensor.dtype):
        return tensor.flatten().flip(0).reshape(tensor.shape)
    spread = float(tensor.abs().double().mean()) or 1.0
    return tensor + spread * torch.rand(tensor.shape, device=tensor.device).to(tensor.dtype)
