"""Sizes of inputs and outputs that differ from draw to draw: such a problem has no kernel with one plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from kernelwright.errors import ProblemError
from kernelwright.model import TensorSpec
from kernelwright.worker.reference.instance import Specs

CURES = {
    "input": "the sizes that get_inputs gives may depend on the case only, not on random numbers",
    "output": (
        "the sizes that forward gives may depend on the case only, not on random numbers or on values, in small cases "
        "too: return a tensor of the largest size (torch.where(mask, x, 0) in place of x[mask]) and how much of it is "
        "filled, or let get_inputs draw values that always give one size"
    ),
}


def require_same_sizes(
    file: Path, case: str, known: Specs, inputs: Iterable[object], outputs: Iterable[object]
) -> None:  # fmt: skip
    """Raise `ProblemError` where the shapes of inputs and outputs differ from those of another draw, `known`."""
    for what, specs, values in (("input", known.inputs, inputs), ("output", known.outputs, outputs)):
        before, after = ([tuple(one.shape) for one in some if isinstance(one, Tensor | TensorSpec)]
                         for some in (specs, values))  # fmt: skip
        if before != after:
            raise ProblemError(
                f"{file}: case {case!r}: the sizes of {what}s differ from draw to draw: {_sizes(before)}, then "
                f"{_sizes(after)}",
                CURES[what],
            )


def _sizes(shapes: list[tuple[int, ...]]) -> str:
    return ", ".join("×".join(map(str, shape)) or "a scalar" for shape in shapes) or "none"
