"""The rules for most ATen operators: they need whole arguments, or the elements at the same places; and the kinds of
operators, by which a prompt chooses its moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kernelwright.model import OperatorKind
from kernelwright.worker.bounds.demand import Demand, Wanted, shrunk
from kernelwright.worker.bounds.tape import COPIES, Step, View

REARRANGING = COPIES | {"copy_", "_unsafe_view", "cat", "stack", "repeat", "lift_fresh_copy"}
"""Operators that only move elements and are not views in PyTorch."""

ORDER: tuple[OperatorKind, ...] = ("copy", "pointwise", "vector product", "product", "other")
"""An operator whose calls have several kinds gets the kind that comes last here."""

OVERWRITING = frozenset({"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"})
"""Operators that replace all values of their first argument."""

Rule = Callable[[Step, Wanted, Demand], None]


def whole(step: Step, wanted: Wanted, demand: Demand) -> None:
    for view in sources(step):
        demand.add(view)


def elementwise(step: Step, wanted: Wanted, demand: Demand) -> None:
    for view in sources(step):
        demand.add(view, wanted if wanted is None or wanted is True else shrunk(wanted, view.shape))


def reads_only_shape(name: str) -> bool:
    """Whether an operator reads only the shape and dtype of its first argument."""
    return name.endswith("_like") or name.startswith(("new_", "empty"))


def sources(step: Step) -> list[View]:
    """The tensors that a step reads. Arguments that it only writes to are left out."""
    is_only_written = step.name in OVERWRITING or "out" in step.written
    return [
        view for name, value in step.arguments.items() if not (is_only_written and name in step.written)
        for view in (value if isinstance(value, list | tuple) else [value]) if isinstance(view, View)
    ]  # fmt: skip


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
