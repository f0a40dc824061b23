"""Copies of the factors of a float32 product, from which tensor cores and loads of 16 bytes can take whole tiles.

Tensor cores read 32-bit factors along the depth of the product only: where the rows of the second factor are
contiguous, Triton transposes each tile. So that factor is copied first, with contiguous columns. Where the depth is no
multiple of 4, rows begin at no multiple of 16 bytes, and each number is loaded by itself. So both factors are copied
with zeros behind their depth.

On an H200 (torch 2.11, Triton 3.6, `input_precision="tf32x3"`) 8205 x 2949 times 2949 x 5921 took 15.7 ms as it is, 5.6
with both factors padded, and 3.7 with the second one transposed, too, each with its copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.lowering import lowerings
from torch._inductor.virtualized import V

from kernelwright.worker.generate.hints import value_of

aten = torch.ops.aten

PLACES: dict[Any, tuple[int, int]] = {
    aten.mm.default: (0, 1), aten.bmm.default: (0, 1), aten.addmm.default: (1, 2), aten.baddbmm.default: (1, 2),
}  # fmt: skip
"""Products, and which of their arguments are the factors."""

LEAST_LONG = 512
"""A product whose result has fewer rows takes no longer than reading its second factor several times; with fewer
columns the same holds for the first."""

ALIGNED, DEPTH = 4, 16
"""Numbers in a load of 16 bytes, and the multiple to which a depth is padded."""


def with_copies(lowering: Callable[..., Any], first: int, second: int) -> Callable[..., Any]:
    """The lowering of a product of copies. first, second: the places of the factors among its arguments."""

    def product(*args: Any, **kwargs: Any) -> Any:
        given, a, b = list(args), args[first], args[second]
        rows, depth, columns = (value_of(one) for one in (*a.get_size()[-2:], b.get_size()[-1]))
        if b.get_dtype() == torch.float32 and is_worth_a_copy(rows):
            added = padding_of(depth, columns)
            if added:
                a = lowerings[aten.constant_pad_nd.default](a, [0, added], 0.0)
                b = lowerings[aten.constant_pad_nd.default](b, [0, 0, 0, added], 0.0)
                given[first] = _in_memory(a, [*range(len(a.get_size()) - 1, -1, -1)])
            given[second] = _in_memory(b, [*range(len(b.get_size()) - 1, 1, -1), 0, 1])
        if first == 1 and not args[0].get_size():  # Inductor reads a stride of what is added
            given[0] = lowerings[aten.expand.default](args[0], [*args[1].get_size()[:-1], args[2].get_size()[-1]])
        return lowering(*given, **kwargs)

    return product


def is_worth_a_copy(rows: int) -> bool:
    """Whether a product with this number of rows takes long beside a copy of its second factor."""
    return rows >= LEAST_LONG


def padding_of(depth: int, columns: int) -> int:
    """The number of zeros behind each row of the first factor; 0 for none."""
    return -depth % DEPTH if depth % ALIGNED and columns >= LEAST_LONG else 0


def _in_memory(factor: Any, order: list[int]) -> Any:
    """The factor with strides in this order, the smallest 0; a copy where it has others. No template makes the copy
    tile by tile."""
    made = ir.ExternKernel.require_stride_order(ir.ExternKernel.realize_input(factor), order)
    V.graph.no_fuse_buffer_names.add(made.get_name())
    return made
