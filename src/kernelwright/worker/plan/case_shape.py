"""The part of a case that host code may know: shapes, dtypes, strides and plain arguments, without values."""

from __future__ import annotations

from typing import Any

from kernelwright.model import Record, Scalar, TensorSpec


class CaseShape(Record, frozen=True, kw_only=True):
    """One case. The judge describes it, the recorder calls the candidate by it."""

    name: str
    inputs: tuple[TensorSpec | Scalar | None, ...]
    input_names: tuple[str, ...]
    parameters: dict[str, TensorSpec]
    init: tuple[Any, ...]
    """As it comes out of JSON: a tensor as the fields of its `TensorSpec`."""
    init_names: tuple[str, ...]
    init_tensors: tuple[int, ...] = ()
    """The places in `init` of tensors."""
    mutates: tuple[str, ...] = ()
    """The inputs that may be changed; where there are some, a call may return nothing."""
    arguments: str = ""
    """How inputs are nested in forward's arguments (`structure`)."""
    keywords: tuple[str, ...] = ()
    """The arguments of forward that are passed by name."""
    returns: str = ""
    """How tensors are nested in what forward returns, in the same way."""
    gradients: int = 0
    """How many of the inputs, the last ones, are gradients of outputs: then a backward is called after the forward."""
