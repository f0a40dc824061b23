"""The operators of the framework that a plan may call in mode "finish" (library steps), with their parameters. Pure: no
torch.

None of them synchronises, draws random numbers, or has an output whose size depends on values. In mode "any" `schemas`
decides, for every operator of ATen.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["tensor", "operand", "int", "ints", "number", "bool", "dtype"]
"""The kind of a parameter. operand: a tensor or a number."""


@dataclass(frozen=True)
class Parameter:
    kind: Kind
    optional: bool


@dataclass(frozen=True)
class Operator:
    """is_arithmetic: allowed for integers and single elements only."""

    parameters: dict[str, Parameter]
    is_arithmetic: bool = False


_TABLE = {
    # reductions
    "sum.default": "self:tensor dtype:dtype?",
    "sum.dim_IntList": "self:tensor dim:ints? keepdim:bool dtype:dtype?",
    "mean.default": "self:tensor dtype:dtype?",
    "mean.dim": "self:tensor dim:ints? keepdim:bool dtype:dtype?",
    "amax.default": "self:tensor dim:ints keepdim:bool",
    "amin.default": "self:tensor dim:ints keepdim:bool",
    "max.default": "self:tensor",
    "max.dim": "self:tensor dim:int keepdim:bool",
    "min.default": "self:tensor",
    "min.dim": "self:tensor dim:int keepdim:bool",
    "argmax.default": "self:tensor dim:int? keepdim:bool",
    "argmin.default": "self:tensor dim:int? keepdim:bool",
    "prod.default": "self:tensor dtype:dtype?",
    "prod.dim_int": "self:tensor dim:int keepdim:bool dtype:dtype?",
    "all.default": "self:tensor",
    "all.dim": "self:tensor dim:int keepdim:bool",
    "any.default": "self:tensor",
    "any.dim": "self:tensor dim:int keepdim:bool",
    "logsumexp.default": "self:tensor dim:ints keepdim:bool",
    # arithmetic
    "add.Tensor": "self:tensor other:operand alpha:number",
    "sub.Tensor": "self:tensor other:operand alpha:number",
    "mul.Tensor": "self:tensor other:operand",
    "div.Tensor": "self:tensor other:operand",
    "floor_divide.default": "self:tensor other:operand",
    "remainder.Scalar": "self:tensor other:number",
    "remainder.Tensor": "self:tensor other:operand",
}  # fmt: skip

_ARITHMETIC = ("add", "sub", "mul", "div", "floor_divide", "remainder")


def _operator(name: str, parameters: str) -> Operator:
    pairs = (text.partition(":")[::2] for text in parameters.split())
    found = {own: Parameter(kind.removesuffix("?"), kind.endswith("?")) for own, kind in pairs}  # type: ignore[arg-type]
    return Operator(found, name.partition(".")[0] in _ARITHMETIC)


OPERATORS = {name: _operator(name, parameters) for name, parameters in _TABLE.items()}
"""Operators by their name in `torch.ops.aten`, with the overload."""

NAME = re.compile(r"[a-zA-Z]\w*\.\w+|_[a-zA-Z]\w*\.\w+", re.ASCII)
"""The form of such a name. No packet of operators begins with two underscores but those for Python's operators."""

MOST_STEPS = {"finish": 16, "any": 256}
"""Most library steps of one call. A reduction ends in one or two; a network of KernelBench's level 3 has about 200
products. More steps are a loop in host code."""

BUDGET_SHARE = 16
"""In mode "finish" all library steps together may read and write 1/16 of the compulsory bytes. That is enough for a
split-K of 8 or the partial sums of a loss, but not for a second pass over the data (issue 16)."""


DROPOUT = ("dropout_p", "dropout")
"""Parameters by which an operator draws random numbers, unless they are zero."""


def short(operator: str) -> str:
    """The name in reports: `aten.mm` for "mm.default"."""
    return f"aten.{operator.partition('.')[0]}"


def is_whole(dtypes: list[str], shape: tuple[int, ...]) -> bool:
    """Whether arithmetic has integer operands or gives a single element."""
    return math.prod(shape) == 1 or all(dtype.startswith(("int", "uint", "bool")) for dtype in dtypes)
