"""The known sizes of a problem: named integers of the host code, and the products of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kernelwright.inductor.faults import NotConverted

Whole = tuple[int, ...]


@dataclass(frozen=True)
class Size:
    """A named integer in the host code. definition: its expression, "" for a dimension that is read from a shape.
    part_of: product and divisor, where the product is divided without remainder at all sizes that are served."""

    name: str
    values: Whole
    definition: str = ""
    part_of: tuple[str, int] | None = None


class Known:
    """sizes: in the order in which the host code reads or computes them. products: the products that were found, with
    their expressions. rests: divisor and remainder of each expression whose other values the kernels do not serve.
    wholes: pairs of names whose product is itself a product of dimensions."""

    def __init__(self, taken: Iterable[str]) -> None:
        """taken: names of the host code that no size may have."""
        self.sizes: list[Size] = []
        self.products: dict[Whole, str] = {}
        self.rests: dict[str, tuple[int, int]] = {}
        self.wholes: list[set[str]] = []
        self.taken = set(taken)

    def add(self, size: Size) -> str:
        self.taken.add(size.name)
        self.sizes.append(size)
        return size.name

    def add_part(self, values: Whole, text: str, part_of: tuple[str, int] | None) -> str:
        return self.add(Size(self.free("part"), values, text, part_of))

    def free(self, base: str) -> str:
        """A name with a number that no size has yet."""
        return next(f"{base}_{n}" for n in range(1, 1000) if f"{base}_{n}" not in self.taken)

    def divides(self, text: str, divisor: int) -> None:
        """Restrict the kernels to sizes where this product is a multiple of the divisor."""
        known, rest = self.rests.get(text, (1, 0))
        self.rests[text] = (math.lcm(known, divisor), rest)

    def product(self, values: Whole) -> str | None:
        """A product of known dimensions and a number; None where there is none. Raises `NotConverted` where several
        fit."""
        if min(values) < 1:
            negative = tuple(-one for one in values)
            text = self.product(negative) if max(values) < 0 else None
            return None if text is None else f"-({text})"
        if values not in self.products:
            found = [one for one in self._factors(values, 0) if not any(two <= {*one[0]} for two in self.wholes)]
            if not found:
                return None
            fewest = min(len(factors) for factors, _ in found)
            best = [one for one in found if len(one[0]) == fewest]
            if len({self._plain(*one) for one in best}) > 1:
                raise NotConverted(f"the number {values[0]} is {' or '.join(_joined(*one) for one in best[:2])}")
            self.products[values] = _joined(*best[0])
        return self.products[values]

    def _factors(self, values: Whole, first: int) -> Iterator[tuple[tuple[str, ...], int]]:
        """Names of known sizes, in order, and the remaining number."""
        if len(set(values)) == 1:
            yield (), values[0]
            return
        for place in range(first, len(self.sizes)):
            size = self.sizes[place]
            if all(value % one == 0 for value, one in zip(values, size.values, strict=True)):
                left = tuple(value // one for value, one in zip(values, size.values, strict=True))
                for names, number in self._factors(left, place):
                    yield (size.name, *names), number

    def _plain(self, names: Sequence[str], number: int) -> tuple[Fraction, tuple[str, ...]]:
        """The product with parts replaced by what they are parts of. Products for which this is equal are equal at all
        sizes."""
        value, plain = Fraction(number), list[str]()
        for name in names:
            product, divisor = next(one.part_of for one in self.sizes if one.name == name) or (name, 1)
            factors = product.split(" * ")
            value *= Fraction(math.prod(int(one) for one in factors if one.isdigit()), divisor)
            plain += [one for one in factors if not one.isdigit()]
        return value, tuple(sorted(plain))


def _joined(names: tuple[str, ...], number: int) -> str:
    factors = [str(number)] * (number != 1 or not names) + list(names)
    return " * ".join(factors)
