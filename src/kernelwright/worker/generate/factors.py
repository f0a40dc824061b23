"""Copies of the factors of a product, from which tensor cores and loads of 16 bytes can take whole tiles.

Tensor cores read 32-bit factors along the depth of the product only: where the rows of the second factor are
contiguous, Triton transposes each tile. So that factor is copied first, with contiguous columns. Where the rows of a
factor begin at no multiple of 16 bytes, each number is loaded by itself. If the depth is the reason, both factors are
copied with zeros behind it; if the columns are, the second one is copied with contiguous columns.

On an H200 (torch 2.11, Triton 3.6, `input_precision="tf32x3"`) 8205 x 2949 times 2949 x 5921 took 15.7 ms as it is, 5.6
with both factors padded, and 3.7 with the second one transposed, too, each with its copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.kernel_inputs import MMKernelInputs
from torch._inductor.lowering import lowerings
from torch._inductor.virtualized import V

from kernelwright.worker.generate.half_factors import WITH_DTYPE
from kernelwright.worker.generate.hints import value_of
from kernelwright.worker.generate.replacing import replaced
from kernelwright.worker.reference.instance import HALF

aten = torch.ops.aten

DTYPES = frozenset((*HALF, torch.float32))
"""Dtypes that templates add up in float32."""

PLACES: dict[Any, tuple[int, int]] = {
    aten.mm.default: (0, 1), aten.bmm.default: (0, 1), aten.addmm.default: (1, 2), aten.baddbmm.default: (1, 2),
}  # fmt: skip
"""Products, and which of their arguments are the factors."""

OF_DTYPE: dict[Any, Any] = {with_dtype: plain for plain, with_dtype in WITH_DTYPE.items()}
"""Products whose result has a dtype of its own, and those whose result has that of the factors."""

LEAST_LONG = 512
"""A product whose result has fewer rows takes no longer than reading its second factor several times; with fewer
columns the same holds for the first."""

LOAD_BYTES, DEPTH = 16, 16
"""Bytes of a load, and the multiple to which a depth is padded."""


def of_dtype(lowering: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of a product whose result has a dtype of its own, from that of the plain product. Before torch 2.13
    Inductor has templates for the latter alone."""

    def product(a: Any, b: Any, dtype: torch.dtype) -> Any:
        with replaced((MMKernelInputs, "out_dtype", lambda own: lambda inputs: dtype)):
            return lowering(a, b)

    return product


def with_copies(lowering: Callable[..., Any], first: int, second: int) -> Callable[..., Any]:
    """The lowering of a product of copies. first, second: the places of the factors among its arguments."""

    def product(*args: Any, **kwargs: Any) -> Any:
        given, a, b = list(args), args[first], args[second]
        rows, depth, columns = (value_of(one) for one in (*a.get_size()[-2:], b.get_size()[-1]))
        if is_worth_a_copy(rows) and b.get_dtype() in DTYPES:
            itemsize = b.get_dtype().itemsize
            added = padding_of(depth, columns, itemsize)
            if added:
                a = lowerings[aten.constant_pad_nd.default](a, [0, added], 0.0)
                b = lowerings[aten.constant_pad_nd.default](b, [0, 0, 0, added], 0.0)
                given[first] = _in_memory(a, [*range(len(a.get_size()) - 1, -1, -1)])
            if added or itemsize == 4 or columns * itemsize % LOAD_BYTES:
                given[second] = _in_memory(b, [*range(len(b.get_size()) - 1, 1, -1), 0, 1])
        if first == 1 and not args[0].get_size():  # Inductor reads a stride of what is added
            given[0] = lowerings[aten.expand.default](args[0], [*args[1].get_size()[:-1], args[2].get_size()[-1]])
        return lowering(*given, **kwargs)

    return product


def is_worth_a_copy(rows: int) -> bool:
    """Whether a product with this number of rows takes long beside a copy of its second factor."""
    return rows >= LEAST_LONG


def padding_of(depth: int, columns: int, itemsize: int) -> int:
    """The number of zeros behind each row of the first factor; 0 for none. itemsize: bytes of a number."""
    return -depth % DEPTH if depth * itemsize % LOAD_BYTES and columns >= LEAST_LONG else 0


def _in_memory(factor: Any, order: list[int]) -> Any:
    """The factor with strides in this order, the smallest 0; a copy where it has others. No template makes the copy
    tile by tile."""
    made = ir.ExternKernel.require_stride_order(ir.ExternKernel.realize_input(factor), order)
    V.graph.no_fuse_buffer_names.add(made.get_name())
    return made
