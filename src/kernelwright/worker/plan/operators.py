"""The operators of the framework that a plan may call (library steps), with their properties. Pure: no torch.

None of them synchronises, draws random numbers, or has an output whose size depends on values.
"""

from __future__ import annotations

import math
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
    """mode: the most restrictive library mode that allows the operator. out: the overload that writes to given tensors;
    "" if there is none, so that the result is copied. is_arithmetic: allowed for integers and single elements only."""

    mode: Mode
    out: str
    parameters: dict[str, Parameter]
    is_arithmetic: bool = False


_TABLE = {
    # reductions
    "sum.default": ("finish", "out", "self:tensor dtype:dtype?"),
    "sum.dim_IntList": ("finish", "IntList_out", "self:tensor dim:ints? keepdim:bool dtype:dtype?"),
    "mean.default": ("finish", "dtype_out", "self:tensor dtype:dtype?"),
    "mean.dim": ("finish", "out", "self:tensor dim:ints? keepdim:bool dtype:dtype?"),
    "amax.default": ("finish", "out", "self:tensor dim:ints keepdim:bool"),
    "amin.default": ("finish", "out", "self:tensor dim:ints keepdim:bool"),
    "max.default": ("finish", "unary_out", "self:tensor"),
    "max.dim": ("finish", "dim_max", "self:tensor dim:int keepdim:bool"),
    "min.default": ("finish", "unary_out", "self:tensor"),
    "min.dim": ("finish", "dim_min", "self:tensor dim:int keepdim:bool"),
    "argmax.default": ("finish", "out", "self:tensor dim:int? keepdim:bool"),
    "argmin.default": ("finish", "out", "self:tensor dim:int? keepdim:bool"),
    "prod.default": ("finish", "out", "self:tensor dtype:dtype?"),
    "prod.dim_int": ("finish", "int_out", "self:tensor dim:int keepdim:bool dtype:dtype?"),
    "all.default": ("finish", "all_out", "self:tensor"),
    "all.dim": ("finish", "out", "self:tensor dim:int keepdim:bool"),
    "any.default": ("finish", "all_out", "self:tensor"),
    "any.dim": ("finish", "out", "self:tensor dim:int keepdim:bool"),
    "logsumexp.default": ("finish", "out", "self:tensor dim:ints keepdim:bool"),
    # arithmetic
    "add.Tensor": ("finish", "out", "self:tensor other:operand alpha:number"),
    "sub.Tensor": ("finish", "out", "self:tensor other:operand alpha:number"),
    "mul.Tensor": ("finish", "out", "self:tensor other:operand"),
    "div.Tensor": ("finish", "out", "self:tensor other:operand"),
    "floor_divide.default": ("finish", "out", "self:tensor other:operand"),
    "remainder.Scalar": ("finish", "Scalar_out", "self:tensor other:number"),
    "remainder.Tensor": ("finish", "Tensor_out", "self:tensor other:operand"),
    # products, convolutions, attention
    "mm.default": ("any", "out", "self:tensor mat2:tensor"),
    "bmm.default": ("any", "out", "self:tensor mat2:tensor"),
    "mv.default": ("any", "out", "self:tensor vec:tensor"),
    "dot.default": ("any", "out", "self:tensor tensor:tensor"),
    "addmm.default": ("any", "out", "self:tensor mat1:tensor mat2:tensor beta:number alpha:number"),
    "addmv.default": ("any", "out", "self:tensor mat:tensor vec:tensor beta:number alpha:number"),
    "baddbmm.default": ("any", "out", "self:tensor batch1:tensor batch2:tensor beta:number alpha:number"),
    "convolution.default": (
        "any", "out",
        "input:tensor weight:tensor bias:tensor? stride:ints padding:ints dilation:ints transposed:bool "
        "output_padding:ints groups:int",
    ),
    "scaled_dot_product_attention.default": (
        "any", "",
        "query:tensor key:tensor value:tensor attn_mask:tensor? dropout_p:number is_causal:bool scale:number? "
        "enable_gqa:bool",
    ),
    # sorting and cumulative operations
    "sort.default": ("any", "values", "self:tensor dim:int descending:bool"),
    "sort.stable": ("any", "values_stable", "self:tensor stable:bool? dim:int descending:bool"),
    "topk.default": ("any", "values", "self:tensor k:int dim:int largest:bool sorted:bool"),
    "cumsum.default": ("any", "out", "self:tensor dim:int dtype:dtype?"),
    "cumprod.default": ("any", "out", "self:tensor dim:int dtype:dtype?"),
    "cummax.default": ("any", "out", "self:tensor dim:int"),
    "cummin.default": ("any", "out", "self:tensor dim:int"),
    "logcumsumexp.default": ("any", "out", "self:tensor dim:int"),
}  # fmt: skip

_ARITHMETIC = ("add", "sub", "mul", "div", "floor_divide", "remainder")


def _operator(name: str, mode: Mode, out: str, parameters: str) -> Operator:
    pairs = (text.partition(":")[::2] for text in parameters.split())
    found = {own: Parameter(kind.removesuffix("?"), kind.endswith("?")) for own, kind in pairs}  # type: ignore[arg-type]
    return Operator(mode, out, found, name.partition(".")[0] in _ARITHMETIC)


OPERATORS = {name: _operator(name, *row) for name, row in _TABLE.items()}  # type: ignore[arg-type]
"""Operators by their name in `torch.ops.aten`, with the overload."""

BY_OUT = {f"{name.partition('.')[0]}.{one.out}": name for name, one in OPERATORS.items() if one.out}
"""Names of operators, by their overload that writes to given tensors."""

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
