"""Expressions of known sizes for numbers that are no product of them: fractions, sums, windows, and parts.

Each function gives None where nothing fits, and raises `NotConverted` where several expressions do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import combinations

from kernelwright.inductor.compare import Values
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.known import Known, Size, Whole

MOST_FACTORS = 3
"""Maximum dimensions whose product is in a fraction."""

MOST_DIVISOR = 8
"""Maximum divisor of a dimension after windows: the product of strides of convolutions and poolings."""

MOST_PARTS = 256
"""Maximum number of parts of a product that is divided without remainder."""

MOST_TERMS = 4
"""Maximum number of different inputs that are put together along one dimension."""

MOST_SHIFT = 64
"""Maximum number that windows and paddings add to a dimension or subtract from it."""


class Formulas:
    def __init__(
        self, known: Known, divisors: Iterable[int], fixed: Iterable[int],
        elsewhere: Callable[[Whole, Size], Iterator[tuple[int, int]]],
    ) -> None:  # fmt: skip
        """divisors: integers in the code. fixed: numbers that the problem file keeps at all sizes. elsewhere: the
        values of a dimension of the results and of a known size at sizes with other code."""
        self._known, self._divisors, self._fixed = known, sorted(divisors), sorted(fixed)
        self._at_other_sizes = elsewhere

    def quotient(self, values: Whole) -> str | None:
        """A product divided without remainder by a number that the file keeps, such as the channels of a group."""
        for divisor in self._fixed:
            whole = self._known.product(tuple(value * divisor for value in values))
            if whole is not None and len(set(values)) > 1:
                self._known.divides(whole, divisor)
                return self._known.add_part(values, f"{whole} // {divisor}", (whole, divisor))
        return None

    def fraction(self, values: Values) -> str | None:
        """A number over a product of dimensions, or times one, such as the share of a class in label smoothing."""
        if not all(type(one) is float for one in values):
            return None
        for count in range(1, MOST_FACTORS + 1):
            for sizes in combinations(self._known.sizes, count):
                products = [math.prod(one) for one in zip(*(size.values for size in sizes), strict=True)]
                for power, sign in ((-1, "/"), (1, "*")):
                    number = float(f"{values[0] / products[0] ** power:.12g}")
                    made = (number * one**power for one in products)
                    if number and all(map(partial(math.isclose, rel_tol=1e-14), made, values)):
                        text = " * ".join(size.name for size in sizes)
                        return f"{number} {sign} {text if count == 1 else f'({text})'}"
        return None

    def shifted(self, values: Whole) -> str | None:
        """A product with one shifted factor, plus or minus one at most, such as the offset of a neighbour in the next
        row."""
        for beside in (0, 1, -1):
            found = self._of_shifted_factor(tuple(value - beside for value in values))
            if len(found) > 1:
                raise NotConverted(f"the number {values[0]} is {' or '.join(found[:2])}")
            for text in found:
                return text if beside == 0 else f"{text} {'-' if beside < 0 else '+'} 1"
        return None

    def _of_shifted_factor(self, values: Whole) -> list[str]:
        found: dict[tuple[str, str], str] = {}
        for size in self._known.sizes:
            if any(value % one for value, one in zip(values, size.values, strict=True)):
                continue
            left = tuple(value // one for value, one in zip(values, size.values, strict=True))
            for shift in (one for n in range(1, MOST_DIVISOR + 1) for one in (n, -n)):
                moved = tuple(value - shift for value in left)
                text = self._known.product(moved) if len(set(moved)) > 1 else None
                if text is not None:
                    found[size.name, text] = f"{size.name} * ({text} {'-' if shift < 0 else '+'} {abs(shift)})"
        return list(found.values())

    def sum(self, values: Whole) -> str | None:
        """The dimension of inputs that are put together: a sum of up to MOST_TERMS products. It gets a name."""
        found = self._terms(values, MOST_TERMS)
        fewest = [one for one in found.values() if len(one) == min(map(len, found.values()))]
        if len(fewest) > 1:
            raise NotConverted(f"the number {values[0]} is {' or '.join(map(' + '.join, fewest))}")
        return self._known.add(Size(self._known.free("total"), values, " + ".join(fewest[0]))) if fewest else None

    def _terms(self, values: Whole, most: int) -> dict[tuple[str, ...], tuple[str, ...]]:
        """The sums of dimensions and a last product, by their terms in order."""
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        for size in self._known.sizes:
            rest = tuple(value - one for value, one in zip(values, size.values, strict=True))
            if size.definition or min(rest) < 1 or len(set(rest)) == 1:
                continue
            text = self._known.product(rest)
            ends = [(text,)] if text is not None else self._terms(rest, most - 1).values() if most > 2 else []
            for end in ends:
                found.setdefault(tuple(sorted((size.name, *end))), (size.name, *end))
        return found

    def window(self, values: Whole) -> str | None:
        """A dimension after windows: (multiplied, shifted), divided. It gets a name and can then be a factor."""
        return self._window_by(values, is_padded=False)

    def padded_window(self, values: Whole) -> str | None:
        """A dimension after a convolution that adds more than its stride, which no pool does: their paddings are at
        most half of the window."""
        return self._window_by(values, is_padded=True)

    def _window_by(self, values: Whole, is_padded: bool) -> str | None:
        given = [one for one in self._known.sizes if not one.definition]
        return self._window_of(given, values, is_padded) or self._window_of(
            [one for one in self._known.sizes if one.definition], values, is_padded
        )

    def _window_of(self, sizes: Sequence[Size], values: Whole, is_padded: bool) -> str | None:
        found: list[tuple[str, str, int]] = []
        unclear = ""
        for size in sizes:
            pairs = [*zip(values, size.values, strict=True), *self._at_other_sizes(values, size)]
            small = range(2, MOST_DIVISOR + 1)
            for factor, divisor in [
                (1, 1),
                *((1, d) for d in sorted({*small, *self._fixed})),
                *((f, 1) for f in small),
            ]:
                low = max(v * divisor - factor * s for v, s in pairs)
                high = min(v * divisor - factor * s for v, s in pairs) + divisor - 1
                most = MOST_SHIFT if divisor == 1 or is_padded else divisor
                if low > high or high < -MOST_SHIFT or low > most:
                    continue
                if divisor in self._divisors and 0 == low < high == divisor - 1:
                    # No remainder at any compared size, so other sizes are unknown: serve only multiples.
                    high = 0
                    self._known.divides(size.name, divisor)
                if low < high and low <= divisor - 1 <= high and divisor in self._divisors:
                    # Ceiling division: the number of parts, the last one incomplete.
                    low = high = divisor - 1
                own = [shift for shift in range(low, high + 1) if shift in self._windows(divisor)]
                if len(own) == 1:
                    low = high = own[0]
                if low < high:
                    unclear = f"the number {values[0]} may be ({size.name} + {low}) // {divisor}, or + {high}"
                    continue
                text = size.name if factor == 1 else f"{factor} * {size.name}"
                text = f"{text} {'-' if low < 0 else '+'} {abs(low)}" if low else text
                if divisor > 1:
                    text = f"({text}) // {divisor}" if low else f"{text} // {divisor}"
                found.append((size.name, text, 1 if low or factor > 1 else divisor))
        if not found and unclear:
            raise NotConverted(unclear)
        if not found:
            return None
        if len({text if is_padded else base for base, text, _ in found}) > 1:
            raise NotConverted(f"the number {values[0]} is {' or '.join(text for _, text, _ in found[:2])}")
        base, text, divisor = found[0]
        modulus, rest = self._known.rests.get(base, (1, 0))
        has_no_rest = divisor > 1 and rest == 0 and modulus % divisor == 0
        return self._known.add(Size(self._known.free(base), values, text, (base, divisor) if has_no_rest else None))

    def _windows(self, stride: int) -> Set[int]:
        """The shifts of windows with this stride, whose sides and paddings are numbers that the file keeps."""
        return {2 * padding - side + stride for side in (*self._fixed, stride) for padding in (0, *self._fixed)}

    def part(self, values: Whole) -> str | None:
        """A product divided into parts, rounded up, or shifted by one."""
        found: list[tuple[str, tuple[str, int] | None]] = []
        for product, text in self._known.products.items():
            shifts = {v - p for v, p in zip(values, product, strict=True)}
            if shifts in ({1}, {-1}):
                return f"{text} {'+' if shifts == {1} else '-'} 1"
            for divisor in self._divisors:
                if all(v * divisor == p for v, p in zip(values, product, strict=True)):
                    found.append((f"{text} // {divisor}", (text, divisor)))
                    self._known.divides(text, divisor)
                elif all(v == -(-p // divisor) for v, p in zip(values, product, strict=True)):
                    found.append((f"triton.cdiv({text}, {divisor})", None))
        if not found:  # a part without a remainder, such as the channels of a group
            for divisor in range(2, MOST_PARTS + 1):
                whole = self._known.product(tuple(value * divisor for value in values))
                if whole is not None:
                    found = [(f"{whole} // {divisor}", (whole, divisor))]
                    self._known.divides(whole, divisor)
                    break
        if len(found) > 1:
            raise NotConverted(f"the number {values[0]} is {' or '.join(text for text, _ in found[:2])}")
        if not found:
            return None
        return self._known.add_part(values, *found[0])
