"""The check for 32-bit offsets: the sizes that kernels with 32-bit offsets can serve.

A kernel's offsets must cover the tensors that it is launched with, and the product of its extents. This is Inductor's
own test (`can_use_32bit_indexing` in `torch/_inductor/codegen/simd.py`, torch 2.13), so the timed case always passes
it.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.inductor.arithmetic import factors_of, parsed
from kernelwright.inductor.writing import called, refusal


@dataclass(frozen=True)
class Reach:
    """A number of elements: a number times expressions of the host code."""

    number: int
    factors: tuple[str, ...]

    def is_within(self, other: Reach) -> bool:
        """Whether it can never exceed `other`: its factors are among those of `other`, and the rest are names of sizes,
        which are at least 1. Quotients and differences may be 0."""
        own, others = Counter(self.factors), Counter(other.factors)
        return self.number <= other.number and own <= others and all(one.isidentifier() for one in others - own)

    def text(self) -> str:
        return " * ".join([*([str(self.number)] if self.number != 1 or not self.factors else []), *self.factors])


def product(texts: Iterable[str]) -> Reach:
    """The product of expressions of the host code, which may be numbers and products themselves."""
    factors = [one for text in texts for one in factors_of(parsed(text))]
    found = [f"({ast.unparse(one)})" if isinstance(one, ast.BinOp) else ast.unparse(one) for one in factors]
    numbers = [int(one) for one in found if one.isdigit()]
    return Reach(math.prod(numbers), tuple(one for one in found if not one.isdigit()))


def guard(reached: Sequence[Reach]) -> list[str]:
    """Host code that refuses sizes at which one of these numbers exceeds 32-bit offsets."""
    most: list[Reach] = []
    for one in reached:
        if one.factors and not any(one.is_within(other) for other in most):
            most = [*(other for other in most if not other.is_within(one)), one]
    if not most:
        return []
    texts = [one.text() for one in most]
    largest = texts[0] if len(texts) == 1 else called("max", texts, "    ")
    return refusal(f"{largest} >= 2**31", "too large: the kernels use 32-bit offsets")
