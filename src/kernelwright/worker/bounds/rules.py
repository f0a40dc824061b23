"""The rules for most ATen operators: they need whole arguments, or the elements at the same places."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.worker.bounds.demand import Demand, Wanted, shrunk
from kernelwright.worker.bounds.tape import Step, View

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
