"""`scatter_reduce` by maxima and minima in a kernel. Inductor leaves it to the library."""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.codegen.triton import TritonKernel

from kernelwright.worker.generate.replacing import replaced

ATOMICS = {"amax": "atomic_max", "amin": "atomic_min"}

DTYPES = (torch.float32, torch.int32, torch.int64)
"""Dtypes of which Triton's atomics find the larger number."""


def install() -> None:
    """Change Inductor, in this process and until it ends."""
    own = lowering.scatter_reduce_

    def scatter_reduce_(x: Any, dim: int, index: Any, src: Any, reduce: Any, *, include_self: bool = True) -> Any:
        if reduce not in ATOMICS or not include_self or x.get_dtype() not in DTYPES:
            return own(x, dim, index, src, reduce, include_self=include_self)
        made = lambda of: lambda **given: of(**{**given, "scatter_mode": ATOMICS[reduce]})  # noqa: E731
        with replaced((ir, "Scatter", made), (lowering, "scatter_fallback", lambda _: lambda *args, **named: None)):
            return own(x, dim, index, src, "sum")

    lowering.scatter_reduce_ = scatter_reduce_  # type: ignore[assignment]
    lowering.register_lowering(torch.ops.aten.scatter_reduce_, type_promotion_kind=None)(scatter_reduce_)
    store = TritonKernel.store

    def stored(kernel: Any, name: str, index: Any, value: Any, mode: Any = None) -> None:
        is_other = mode in ATOMICS.values()
        store(kernel, name, index, value, "atomic_add" if is_other else mode)
        if is_other:
            line = kernel.stores._lines[-1]
            line.line = line.line.replace("tl.atomic_add", f"tl.{mode}")

    TritonKernel.store = stored  # type: ignore[assignment, method-assign]
