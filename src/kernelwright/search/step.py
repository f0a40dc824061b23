"""One thing to ask for, before it has a number."""

from __future__ import annotations

from typing import NamedTuple

from kernelwright.model import Operator


class Step(NamedTuple):
    """parents: trial numbers, the first one the kernel to start from."""

    operator: Operator
    parents: tuple[int, ...]
