"""Sizes of inputs and outputs that differ from draw to draw: such a problem has no kernel with one plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelwright.errors import ProblemError

Shapes = Sequence[tuple[int, ...]]

CURES = {
    "input": "the sizes that get_inputs gives may depend on the case only, not on random numbers",
    "output": (
        "the sizes that forward gives may depend on the case only, not on random numbers or on values, in small cases "
        "too: return a tensor of the largest size (torch.where(mask, x, 0) in place of x[mask]) and how much of it is "
        "filled, or let get_inputs draw values that always give one size"
    ),
}


def require_same_sizes(file: Path, case: str, what: str, known: Shapes, found: Shapes) -> None:
    """Raise `ProblemError` where the shapes of two draws differ. what: a key of CURES."""
    if list(known) != list(found):
        raise ProblemError(
            f"{file}: case {case!r}: the sizes of {what}s differ from draw to draw: {_sizes(known)}, then "
            f"{_sizes(found)}",
            CURES[what],
        )


def _sizes(shapes: Shapes) -> str:
    return ", ".join("×".join(map(str, shape)) or "a scalar" for shape in shapes) or "none"
