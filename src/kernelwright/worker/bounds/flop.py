"""FLOP of one ATen operator: matrix products, convolutions and attention; 0 for everything else.

Products with padding, and products that a causal mask removes, do not count: no kernel has to compute them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.utils.flop_counter import flop_registry

from kernelwright.worker.reference.instance import operator_name

PRODUCTS = frozenset(
    {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot", "_int_mm", "_scaled_mm", "_grouped_mm"}
)
ADDING = frozenset({"addmm", "baddbmm", "addmv"})
"""Products whose first argument is an addend and not a factor."""


def operands(func: Any, args: Sequence[Any]) -> tuple[Tensor, ...]:
    """The two tensors that an operator multiplies; empty for an operator without FLOP."""
    name = operator_name(func)
    if not (name in PRODUCTS or name == "convolution" or _is_attention(name) or func._overloadpacket in flop_registry):
        return ()
    tensors = [one for one in args if isinstance(one, Tensor)]
    return tuple(tensors[1:3] if name in ADDING else tensors[:2])


def flop_of(func: Any, args: Sequence[Any], kwargs: dict[str, Any], made: Any) -> int:
    """FLOP of a call whose result is `made`; a multiplication with its addition counts as two."""
    name = operator_name(func)
    if name in PRODUCTS:
        one, other = operands(func, args)
        groups = made.shape[0] if made.dim() > max(one.dim(), other.dim()) else 1  # each sums a part of the rows
        return 2 * int(made.numel()) * (one.shape[-1] if one.dim() else 1) // groups
    if name == "convolution":
        x, weight, _, stride, padding, dilation, is_transposed = args[:7]
        return convolution_flop(x.shape, weight.shape, made.shape, stride, padding, dilation, is_transposed)
    if _is_attention(name):
        return attention_flop(func, args, kwargs)
    return int(flop_registry[func._overloadpacket](*args, **kwargs, out_val=made))


def convolution_flop(
    x: Sequence[int], weight: Sequence[int], made: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], is_transposed: bool,
) -> int:  # fmt: skip
    """FLOP of a convolution: pairs of a position and a tap that fall inside the tensor, not on its padding.

    x: (N, C_in, *sizes), made: (N, C_out, *sizes); weight: (C_out, C_in / groups, *taps), transposed (C_in, C_out /
    groups, *taps).
    """
    walked, met = (x, made) if is_transposed else (made, x)
    pairs = 1
    for d, (steps, inside, taps) in enumerate(zip(walked[2:], met[2:], weight[2:], strict=True)):
        step, pad, apart = (one[min(d, len(one) - 1)] for one in (stride, padding, dilation))
        first = [tap * apart - pad for tap in range(taps)]
        pairs *= sum(_within(start, step, steps, inside) for start in first)
    return 2 * x[0] * weight[0] * weight[1] * pairs


def _within(start: int, step: int, steps: int, inside: int) -> int:
    """How many of start, start + step, … (`steps` numbers) lie in [0, inside)."""
    least = max(0, -(start // step))
    most = min(steps - 1, (inside - 1 - start) // step)
    return max(0, most - least + 1)


def attention_flop(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
    """FLOP of both products of attention, for the pairs that a causal mask keeps."""
    query, key, value = args[:3]
    queries, keys = query.shape[-2], key.shape[-2]
    names = [argument.name for argument in func._schema.arguments]
    is_causal = (dict(zip(names, args, strict=False)) | kwargs).get("is_causal", False)
    pairs = sum(min(i + 1, keys) for i in range(queries)) if is_causal else queries * keys
    return int(2 * math.prod(query.shape[:-2]) * pairs * (query.shape[-1] + value.shape[-1]))


def _is_attention(name: str) -> bool:
    return name.startswith("_scaled_dot_product") and not name.endswith("_backward")
