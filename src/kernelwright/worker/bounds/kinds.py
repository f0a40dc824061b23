"""The kinds of the operators of a forward. A prompt chooses its moves by them."""

from __future__ import annotations

from collections.abc import Iterable

from kernelwright.model import OperatorKind
from kernelwright.worker.bounds.rules import reads_only_shape
from kernelwright.worker.bounds.tape import COPIES, Step

REARRANGING = COPIES | {"copy_", "_unsafe_view", "cat", "stack", "repeat", "lift_fresh_copy"}
"""Operators that only move elements and are not views in PyTorch."""

ORDER: tuple[OperatorKind, ...] = ("copy", "pointwise", "vector product", "product", "other")
"""An operator whose calls have several kinds gets the kind that comes last here."""


def kinds(steps: Iterable[Step]) -> dict[str, OperatorKind]:
    """The kind of each operator, by its name. Those that read no tensor (`arange`, `zeros_like`) are left out."""
    found: dict[str, OperatorKind] = {}
    for step in steps:
        if next(step.tensors(), None) is not None and not reads_only_shape(step.name):
            found[step.name] = max(found.get(step.name, "copy"), kind(step), key=ORDER.index)
    return found


def kind(step: Step) -> OperatorKind:
    if step.flop:
        return "vector product" if has_vector(step) else "product"
    if step.func.is_view or step.name in REARRANGING:
        return "copy"
    return "pointwise" if step.is_pointwise else "other"


def has_vector(step: Step) -> bool:
    """Whether one factor of a product is a vector. For a convolution: whether the output has one channel per group."""
    shape = step.outputs[0].shape
    if step.name == "convolution":
        return len(shape) > 1 and shape[1] == step.arguments["groups"]
    return len(shape) < 2 or 1 in shape[-2:]
