"""The operators of the framework that a plan may call in mode "finish" (library steps), and the most used ones of mode
"any", with their properties. Pure: no torch.

None of them synchronises, draws random numbers, or has an output whose size depends on values. Mode "any" also allows
the other operators of ATen of which `schemas` says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Mode = Literal["finish", "any"]
Kind = Literal["tensor", "operand", "int", "ints", "number", "bool", "dtype"]
"""The kind of a parameter. operand: a tensor or a number."""


@dataclass(frozen=True)
class Parameter:
    kind: Kind
    optional: bool


@dataclass(frozen=True)
class Operator:
    """mode: the most restrictive library mode that allows the operator. is_arithmetic: allowed for integers and single
    elements only."""

    mode: Mode
    parameters: dict[str, Parameter]
    is_arithmetic: bool = False


_TABLE = {
    # reductions
    "sum.default": ("finish", "self:tensor dtype:dtype?"),
    "sum.dim_IntList": ("finish", "self:tensor dim:ints? keepdim:bool dtype:dtype?"),
    "mean.default": ("finish", "self:tensor dtype:dtype?"),
    "mean.dim": ("finish", "self:tensor dim:ints? keepdim:bool dtype:dtype?"),
    "amax.default": ("finish", "self:tensor dim:ints keepdim:bool"),
    "amin.default": ("finish", "self:tensor dim:ints keepdim:bool"),
    "max.default": ("finish", "self:tensor"),
    "max.dim": ("finish", "self:tensor dim:int keepdim:bool"),
    "min.default": ("finish", "self:tensor"),
    "min.dim": ("finish", "self:tensor dim:int keepdim:bool"),
    "argmax.default": ("finish", "self:tensor dim:int? keepdim:bool"),
    "argmin.default": ("finish", "self:tensor dim:int? keepdim:bool"),
    "prod.default": ("finish", "self:tensor dtype:dtype?"),
    "prod.dim_int": ("finish", "self:tensor dim:int keepdim:bool dtype:dtype?"),
    "all.default": ("finish", "self:tensor"),
    "all.dim": ("finish", "self:tensor dim:int keepdim:bool"),
    "any.default": ("finish", "self:tensor"),
    "any.dim": ("finish", "self:tensor dim:int keepdim:bool"),
    "logsumexp.default": ("finish", "self:tensor dim:ints keepdim:bool"),
    # arithmetic
    "add.Tensor": ("finish", "self:tensor other:operand alpha:number"),
    "sub.Tensor": ("finish", "self:tensor other:operand alpha:number"),
    "mul.Tensor": ("finish", "self:tensor other:operand"),
    "div.Tensor": ("finish", "self:tensor other:operand"),
    "floor_divide.default": ("finish", "self:tensor other:operand"),
    "remainder.Scalar": ("finish", "self:tensor other:number"),
    "remainder.Tensor": ("finish", "self:tensor other:operand"),
    # products, convolutions, attention
    "mm.default": ("any", "self:tensor mat2:tensor"),
    "bmm.default": ("any", "self:tensor mat2:tensor"),
    "mv.default": ("any", "self:tensor vec:tensor"),
    "dot.default": ("any", "self:tensor tensor:tensor"),
    "addmm.default": ("any", "self:tensor mat1:tensor mat2:tensor beta:number alpha:number"),
    "addmv.default": ("any", "self:tensor mat:tensor vec:tensor beta:number alpha:number"),
    "baddbmm.default": ("any", "self:tensor batch1:tensor batch2:tensor beta:number alpha:number"),
    "convolution.default": (
        "any",
        "input:tensor weight:tensor bias:tensor? stride:ints padding:ints dilation:ints transposed:bool "
        "output_padding:ints groups:int",
    ),
    "scaled_dot_product_attention.default": (
        "any",
        "query:tensor key:tensor value:tensor attn_mask:tensor? dropout_p:number is_causal:bool scale:number? "
        "enable_gqa:bool",
    ),
    # sorting and cumulative operations
    "sort.default": ("any", "self:tensor dim:int descending:bool"),
    "sort.stable": ("any", "self:tensor stable:bool? dim:int descending:bool"),
    "topk.default": ("any", "self:tensor k:int dim:int largest:bool sorted:bool"),
    "cumsum.default": ("any", "self:tensor dim:int dtype:dtype?"),
    "cumprod.default": ("any", "self:tensor dim:int dtype:dtype?"),
    "cummax.default": ("any", "self:tensor dim:int"),
    "cummin.default": ("any", "self:tensor dim:int"),
    "logcumsumexp.default": ("any", "self:tensor dim:int"),
}  # fmt: skip

_ARITHMETIC = ("add", "sub", "mul", "div", "floor_divide", "remainder")


def _operator(name: str, mode: Mode, parameters: str) -> Operator:
    pairs = (text.partition(":")[::2] for text in parameters.split())
    found = {own: Parameter(kind.removesuffix("?"), kind.endswith("?")) for own, kind in pairs}  # type: ignore[arg-type]
    return Operator(mode, found, name.partition(".")[0] in _ARITHMETIC)


OPERATORS = {name: _operator(name, *row) for name, row in _TABLE.items()}  # type: ignore[arg-type]
"""Operators by their name in `torch.ops.aten`, with the overload."""

NAME = re.compile(r"[a-zA-Z]\w*\.\w+|_[a-zA-Z]\w*\.\w+", re.ASCII)
"""The form of such a name. No packet of operators begins with two underscores but those for Python's operators."""

MOST_STEPS = {"finish": 16, "any": 256}
"""Most library steps of one call. A reduction ends in one or two; a network of KernelBench's level 3 has about 200
products. More steps are a loop in host code."""

BUDGET_SHARE = 16
"""In mode "finish" all library steps together may read and write 1/16 of the compulsory bytes. That is enough for a
split-K of 8 or the partial sums of a loss, but not for a second pass over the data (issue 16)."""


def allows(mode: str, operator: str) -> bool:
    """Whether a problem with this library mode allows an operator of the list."""
    return mode == "any" or mode == OPERATORS[operator].mode


def short(operator: str) -> str:
    """The name in reports: `aten.mm` for "mm.default"."""
    return f"aten.{operator.partition('.')[0]}"


def names(mode: Mode) -> Iterator[str]:
    """Names of the operators that a mode adds, without their overloads."""
    return iter(dict.fromkeys(name.partition(".")[0] for name, one in OPERATORS.items() if one.mode == mode))


def is_whole(dtypes: list[str], shape: tuple[int, ...]) -> bool:
    """Whether arithmetic has integer operands or gives a single element."""
    return math.prod(shape) == 1 or all(dtype.startswith(("int", "uint", "bool")) for dtype in dtypes)
