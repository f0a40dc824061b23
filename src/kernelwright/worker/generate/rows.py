"""Reductions over rows in one piece, so that a kernel which needs a row twice reads it once.

Inductor keeps rows of up to 1,024 numbers in registers, and loops over longer ones as often as the computation needs
them: for x / x.norm(dim=1) twice. Whether one piece is faster depends on the kernel, so it is one more candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._inductor.choices import InductorChoices
from torch._inductor.runtime.hints import ReductionHint

from kernelwright.worker.generate.replacing import replaced

MOST_IN_ROW = 1 << 15
"""Numbers of a row that 1,024 threads keep, 32 in each. With 64 in each, a norm of rows of 65,535 took 17.97 ms, and in
two loops 9.37 (H200)."""


@contextmanager
def whole_rows() -> Iterator[None]:
    """Inside, Inductor reduces rows of at most MOST_IN_ROW numbers in one piece."""

    def whole(own: Any) -> Any:
        def is_whole(features: Any, *others: Any) -> bool:
            is_row = features.get_reduction_hint() is ReductionHint.INNER
            return bool(own(features, *others)) or (is_row and int(features.reduction_numel) <= MOST_IN_ROW)

        return is_whole

    with replaced(InductorChoices, "should_use_persistent_reduction", whole):
        yield
