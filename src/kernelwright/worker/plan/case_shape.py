"""The part of a case that host code may know: shapes, dtypes, strides and plain arguments, without values."""

from __future__ import annotations

from typing import Any

from kernelwright.model import Record, Scalar, TensorSpec


class CaseShape(Record, frozen=True, kw_only=True):
    """One case, as the judge describes it to the recorder."""

    name: str
    inputs: tuple[TensorSpec | Scalar | None, ...]
    input_names: tuple[str, ...]
    parameters: dict[str, TensorSpec]
    init: tuple[Any, ...]
    """Constructor arguments, decoded from JSON. A tensor is given by the fields of its `TensorSpec`."""
    init_names: tuple[str, ...]
    init_tensors: tuple[int, ...] = ()
    """Positions of the tensors in `init`."""
    mutates: tuple[str, ...] = ()
    """Inputs that a call may change in place. If there are any, a call may return nothing."""
    arguments: str = ""
    """How inputs are nested in forward's arguments (`structure`)."""
    keywords: tuple[str, ...] = ()
    """Arguments of forward that are passed by name."""
    returns: str = ""
    """How tensors are nested in the result of forward (`structure`)."""
    gradients: int = 0
    """Number of inputs, at the end, that are gradients of outputs. If there are any, a backward follows the forward."""
