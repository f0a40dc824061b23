"""Inference of size expressions: the expression of the arguments' shapes that a number has, from its values at several
sizes.

A number is a product of dimensions, a dimension after a window, a sum of dimensions, a product divided into parts, or a
fraction of dimensions. Where two expressions fit, or none, the conversion ends; nothing is guessed. A property that all
compared sizes share (a dimension is even, a product divides without remainder) may be the reason for an omitted mask,
so sizes without it are refused.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TypeVar

from kernelwright.inductor.compare import Values
from kernelwright.inductor.faults import NotConverted
from kernelwright.model import Split

K = TypeVar("K")

Whole = tuple[int, ...]

MOST_FACTORS = 3
"""Maximum dimensions whose product is in a fraction."""

MOST_DIVISOR = 8
"""Maximum divisor of a dimension after windows: the product of strides of convolutions and poolings."""

MOST_PARTS = 256
"""Maximum number of parts of a product that is divided without remainder."""

MODULI = (32, 16, 8, 4, 2)
"""Moduli that are checked for a dimension whose values may all be multiples. 32 is the number of parts into which
Inductor splits a reduction."""

MOST_FIXED = 64
"""Maximum divisor among the numbers that the problem file keeps at all sizes, such as a window's side or the number of
groups."""

LEAST_PART = 256
"""Minimum number of elements that a part of a reduction has at small sizes: a derived case of 20,000 elements
(`worker/reference/derive.py`) then has some dozens of parts, which an interpreter runs in a second."""

MOST_TERMS = 4
"""Maximum number of different inputs that are put together along one dimension."""

MOST_SHIFT = 64
"""Maximum number that windows and paddings add to a dimension or subtract from it."""


@dataclass(frozen=True)
class Size:
    """A named integer in the host code. definition: its expression, "" for a dimension that is read from a shape.
    part_of: product and divisor, where the product is divided without remainder at all sizes that are served."""

    name: str
    values: Whole
    definition: str = ""
    part_of: tuple[str, int] | None = None


class Sizes:
    """The known sizes of one problem.

    shapes: of each argument, one per compared size. numbers: the problem file's numbers, one mapping per compared size;
    dimensions are named after them. constants: integers in the code, which are the candidates for divisors. results:
    shapes of the results, one tuple per compared size. others: the arguments' and the results' shapes at sizes with
    other code. splits: the reductions in parts, one sequence per compared size.
    """

    def __init__(
        self, shapes: Mapping[str, Sequence[Whole]], numbers: Sequence[Mapping[str, int]], constants: Set[int],
        results: Sequence[Sequence[Whole]] = (), others: Sequence[tuple[Mapping[str, Whole], Sequence[Whole]]] = (),
        splits: Sequence[Sequence[Split]] = (),
    ) -> None:  # fmt: skip
        self.known: list[Size] = []
        self._taken = set(shapes)
        self._divisors = sorted(one for one in constants if 1 < one <= 1 << 16)
        self._fixed = sorted({one[name] for one in numbers[:1] for name in one if 1 < one[name] <= MOST_FIXED
                              and len({each.get(name) for each in numbers}) == 1})  # fmt: skip
        self._products: dict[Whole, str] = {}
        self._rests: dict[str, tuple[int, int]] = {}
        self.dimensions: dict[str, tuple[str, ...]] = {}
        self._splits = list(dict.fromkeys(zip(*splits, strict=False)))
        self._wholes: list[set[str]] = []
        """Pairs whose product is a product of dimensions."""
        self._new: dict[str, list[int]] = {}
        self._elsewhere: dict[Whole, list[tuple[Mapping[str, Whole], int]]] = {}
        for output, made_here in enumerate(zip(*results, strict=True)):
            for place, values in enumerate(zip(*made_here, strict=True)):
                self._elsewhere.setdefault(values, []).extend((given, made[output][place]) for given, made in others)
        dimensions: dict[str, list[Whole]] = {}
        for argument, found in shapes.items():
            if len({len(shape) for shape in found}) > 1:
                raise NotConverted(f"{argument} has another number of dimensions at other sizes")
            dimensions[argument] = list(zip(*found, strict=True))
        for argument in _factors_first(dimensions):
            self._new[argument] = []
            texts = [""] * len(dimensions[argument])
            for place in _factors_first({n: [values] for n, values in enumerate(dimensions[argument])}):
                values = dimensions[argument][place]
                text = self._product(values)
                if text is None:
                    text = self._named(numbers, values) or f"{argument}_size{place}"
                    self._add(Size(text, values))
                    self._new[argument].append(place)
                    if (shared := _shared_rest(values)) is not None:
                        self._rests[text] = shared
                texts[place] = text
            self._new[argument].sort()
            self.dimensions[argument] = tuple(texts)

    @property
    def restrictions(self) -> int:
        """How many sizes are fixed, equal another dimension, or must be multiples."""
        texts = [text for dimensions in self.dimensions.values() for text in dimensions]
        return len(self._rests) + sum(map(str.isdigit, texts))

    def serve(self, shapes: Mapping[str, Whole]) -> bool:
        """Whether the host code accepts arguments of these shapes."""
        known = self._known_at(shapes)
        if known is None:
            return False
        rests = [(_value(text, known), *rest) for text, rest in self._rests.items()]
        return all(value is None or value % divisor == rest for value, divisor, rest in rests)

    def _known_at(self, shapes: Mapping[str, Whole]) -> dict[str, int] | None:
        """The known sizes for arguments of these shapes, without those that are rounded up; None for shapes that do not
        fit the dimensions."""
        known: dict[str, int] = {}
        for argument, texts in self.dimensions.items():
            if len(shapes[argument]) != len(texts):
                return None
            known |= {texts[place]: shapes[argument][place] for place in self._new[argument]}
            if tuple(_value(text, known) for text in texts) != shapes[argument]:
                return None
        for one in self.known:
            named = {node.id for node in ast.walk(ast.parse(one.definition)) if isinstance(node, ast.Name)}
            if one.definition and named <= known.keys():
                known[one.name] = eval(one.definition, {}, known)  # made above, of names, numbers and + - * //
        return known

    def _at_other_sizes(self, values: Whole, size: Size) -> Iterator[tuple[int, int]]:
        """The values of a dimension of the results and of a known size where the code is another."""
        for shapes, value in self._elsewhere.get(values, ()):
            known = self._known_at(shapes) or {}
            if size.name in known:
                yield value, known[size.name]

    def spelled(self, text: str) -> str:
        """An expression with shifted sizes written out: `width + 1`, not `width_3`."""
        shifted = {one.name: one.definition for one in self.known if one.definition and "//" not in one.definition
                   and "(" not in one.definition}  # fmt: skip
        while any(isinstance(one, ast.Name) and one.id in shifted for one in ast.walk(ast.parse(text))):
            text = ast.unparse(_Spelled(shifted).visit(ast.parse(text, mode="eval")))
        return text

    def lines(self, read: str) -> list[str]:
        """Host code that reads dimensions from the shapes, and refuses shapes that the kernels do not serve. read: the
        lines after it; sizes that they do not name are not computed."""
        found = []
        for argument, texts in self.dimensions.items():
            new = self._new[argument]
            if texts and len(new) == len(texts):
                comma = "," if len(texts) == 1 else ""
                found.append(f"{', '.join(texts)}{comma} = {argument}.shape")
                continue
            # Check the dimensions before `shape[n]` is read; where nothing is read, comparing the shapes suffices.
            if new and len(new) < len(texts):
                found.append(f"if {argument}.dim() != {len(texts)}:")
                found.append(f'    raise ValueError("{argument} needs {len(texts)} dimensions")')
            found += [f"{texts[place]} = {argument}.shape[{place}]" for place in new]
            shape = f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
            found.append(f"if tuple({argument}.shape) != {shape}:")
            found.append(f'    raise ValueError("the kernels serve {argument} of shape {shape} only")')
        read = " ".join([read, *self._rests])
        computed: list[str] = []
        for one in reversed(self.known):
            if one.definition and re.search(rf"\b{one.name}\b", read):
                computed.insert(0, f"{one.name} = {one.definition}")
                read += f" {one.definition}"
        found += computed
        for text, (divisor, rest) in self._rests.items():
            product = f"({text})" if " " in text else text
            what = f"a multiple of {divisor}" if rest == 0 else "odd"
            found.append(f"if {product} % {divisor} != {rest}:")
            found.append(f'    raise ValueError("the kernels serve sizes where {text} is {what}")')
        return found

    def solve(self, holes: Mapping[str, Values]) -> dict[str, str]:
        """An expression for each hole, using names of the host code. Raises `NotConverted`."""
        found: dict[str, str] = {}
        splits = [one for one in self._splits if tuple(each.count for each in one) in holes.values()]
        searches = (self._product, self._quotient, self._window, self._part, self._shifted)
        for search in (*searches, self._padded_window, *searches, self._sum, *searches):
            for _ in holes:  # a size just found may be a factor of another number
                before = len(found)
                splits = [one for one in splits if not self._add_split(one)]
                for name, values in sorted(holes.items(), key=lambda one: abs(one[1][0])):
                    whole = _whole(values)
                    text = None if name in found or whole is None else self._product(whole) or search(whole)
                    if text is not None:
                        found[name] = text
                if len(found) == before:
                    break
        for name, values in holes.items():
            for root in (1, 2, 4):
                if name not in found and (inverse := _inverse(values, root)) and (text := self._product(inverse)):
                    found[name] = f"({text}) ** -{1 / root}"
            if name not in found and (text := self._fraction(values)) is not None:
                found[name] = text
            if name not in found:
                raise NotConverted(f"no known size gives the number {' or '.join(map(str, values[:3]))}")
        return found

    def _add_split(self, split: Sequence[Split]) -> bool:
        """Add the length of a part and the number of parts; False if the length of the reduction is not known yet.

        At the first size they are Inductor's. At smaller sizes there are fewer parts, none of which is empty. If all
        parts have the same length at all compared sizes, they have it at all sizes: `least` divides `chosen`, which
        divides the length.
        """
        length = self._product(tuple(one.length for one in split))
        if length is None:
            return False
        part = tuple(-(-one.length // one.count) for one in split)
        if len(set(part)) == 1:
            raise NotConverted(f"a reduction has parts of {part[0]} elements at every size")
        least, chosen = min(LEAST_PART, *(one.length // one.chosen for one in split)), split[0].chosen
        over = "triton.cdiv({}, {})"
        if is_exact := all(one.length % one.count == 0 for one in split):
            least, over = max(one for one in range(1, least + 1) if chosen % one == 0), "{} // {}"
            if math.prod(int(one) for one in length.split(" * ") if one.isdigit()) % chosen:
                self._divides(length, chosen)
        name = self._part_named(part, f"max({least}, {over.format(length, chosen)})", None)
        count = self._add(Size(self._free("splits"), tuple(one.count for one in split), over.format(length, name)))
        self._wholes += [{name, count}] * is_exact
        return True

    def _divides(self, text: str, divisor: int) -> None:
        """Restrict the kernels to sizes where this product is a multiple of the divisor."""
        known, rest = self._rests.get(text, (1, 0))
        self._rests[text] = (math.lcm(known, divisor), rest)

    def _named(self, numbers: Sequence[Mapping[str, int]], values: Whole) -> str | None:
        """The problem's own name for a number, where it has one that is free in the host code."""
        for name in numbers[0]:
            is_free = name.isidentifier() and not keyword.iskeyword(name) and name not in {*self._taken, *RESERVED}
            if is_free and tuple(one.get(name) for one in numbers) == values:
                return name
        return None

    def _add(self, size: Size) -> str:
        self._taken.add(size.name)
        self.known.append(size)
        return size.name

    def _free(self, base: str) -> str:
        """A name with a number that no size has yet."""
        return next(f"{base}_{n}" for n in range(1, 1000) if f"{base}_{n}" not in self._taken)

    def _product(self, values: Whole) -> str | None:
        """A product of known dimensions and a number; None where there is none. Raises `NotConverted` where several
        fit."""
        if min(values) < 1:
            negative = tuple(-one for one in values)
            text = self._product(negative) if max(values) < 0 else None
            return None if text is None else f"-({text})"
        if values not in self._products:
            found = [one for one in self._factors(values, 0) if not any(two <= {*one[0]} for two in self._wholes)]
            if not found:
                return None
            fewest = min(len(factors) for factors, _ in found)
            best = [one for one in found if len(one[0]) == fewest]
            if len({self._plain(*one) for one in best}) > 1:
                raise NotConverted(f"the number {values[0]} is {' or '.join(_joined(*one) for one in best[:2])}")
            self._products[values] = _joined(*best[0])
        return self._products[values]

    def _factors(self, values: Whole, first: int) -> Iterator[tuple[tuple[str, ...], int]]:
        """Names of known sizes, in order, and the remaining number."""
        if len(set(values)) == 1:
            yield (), values[0]
            return
        for place in range(first, len(self.known)):
            size = self.known[place]
            if all(value % one == 0 for value, one in zip(values, size.values, strict=True)):
                left = tuple(value // one for value, one in zip(values, size.values, strict=True))
                for names, number in self._factors(left, place):
                    yield (size.name, *names), number

    def _plain(self, names: Sequence[str], number: int) -> tuple[Fraction, tuple[str, ...]]:
        """The product with parts replaced by what they are parts of. Products for which this is equal are equal at all
        sizes."""
        value, plain = Fraction(number), list[str]()
        for name in names:
            product, divisor = next(one.part_of for one in self.known if one.name == name) or (name, 1)
            factors = product.split(" * ")
            value *= Fraction(math.prod(int(one) for one in factors if one.isdigit()), divisor)
            plain += [one for one in factors if not one.isdigit()]
        return value, tuple(sorted(plain))

    def _quotient(self, values: Whole) -> str | None:
        """A product divided without remainder by a number that the file keeps, such as the channels of a group."""
        for divisor in self._fixed:
            whole = self._product(tuple(value * divisor for value in values))
            if whole is not None and len(set(values)) > 1:
                self._divides(whole, divisor)
                return self._part_named(values, f"{whole} // {divisor}", (whole, divisor))
        return None

    def _fraction(self, values: Values) -> str | None:
        """A number over a product of dimensions, or times one, such as the share of a class in label smoothing."""
        if not all(type(one) is float for one in values):
            return None
        for count in range(1, MOST_FACTORS + 1):
            for sizes in combinations(self.known, count):
                products = [math.prod(one) for one in zip(*(size.values for size in sizes), strict=True)]
                for power, sign in ((-1, "/"), (1, "*")):
                    number = float(f"{values[0] / products[0] ** power:.12g}")
                    made = (number * one**power for one in products)
                    if number and all(map(partial(math.isclose, rel_tol=1e-14), made, values)):
                        text = " * ".join(size.name for size in sizes)
                        return f"{number} {sign} {text if count == 1 else f'({text})'}"
        return None

    def _shifted(self, values: Whole) -> str | None:
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
        for size in self.known:
            if any(value % one for value, one in zip(values, size.values, strict=True)):
                continue
            left = tuple(value // one for value, one in zip(values, size.values, strict=True))
            for shift in (one for n in range(1, MOST_DIVISOR + 1) for one in (n, -n)):
                moved = tuple(value - shift for value in left)
                text = self._product(moved) if len(set(moved)) > 1 else None
                if text is not None:
                    found[size.name, text] = f"{size.name} * ({text} {'-' if shift < 0 else '+'} {abs(shift)})"
        return list(found.values())

    def _sum(self, values: Whole) -> str | None:
        """The dimension of inputs that are put together: a sum of up to MOST_TERMS products. It gets a name."""
        found = self._terms(values, MOST_TERMS)
        fewest = [one for one in found.values() if len(one) == min(map(len, found.values()))]
        if len(fewest) > 1:
            raise NotConverted(f"the number {values[0]} is {' or '.join(map(' + '.join, fewest))}")
        return self._add(Size(self._free("total"), values, " + ".join(fewest[0]))) if fewest else None

    def _terms(self, values: Whole, most: int) -> dict[tuple[str, ...], tuple[str, ...]]:
        """The sums of dimensions and a last product, by their terms in order."""
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        for size in self.known:
            rest = tuple(value - one for value, one in zip(values, size.values, strict=True))
            if size.definition or min(rest) < 1 or len(set(rest)) == 1:
                continue
            text = self._product(rest)
            ends = [(text,)] if text is not None else self._terms(rest, most - 1).values() if most > 2 else []
            for end in ends:
                found.setdefault(tuple(sorted((size.name, *end))), (size.name, *end))
        return found

    def _window(self, values: Whole) -> str | None:
        """A dimension after windows: (multiplied, shifted), divided. It gets a name and can then be a factor."""
        return self._window_by(values, is_padded=False)

    def _padded_window(self, values: Whole) -> str | None:
        """A dimension after a convolution that adds more than its stride, which no pool does: their paddings are at
        most half of the window."""
        return self._window_by(values, is_padded=True)

    def _window_by(self, values: Whole, is_padded: bool) -> str | None:
        given = [one for one in self.known if not one.definition]
        return self._window_of(given, values, is_padded) or self._window_of(
            [one for one in self.known if one.definition], values, is_padded
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
                    self._divides(size.name, divisor)
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
        modulus, rest = self._rests.get(base, (1, 0))
        has_no_rest = divisor > 1 and rest == 0 and modulus % divisor == 0
        return self._add(Size(self._free(base), values, text, (base, divisor) if has_no_rest else None))

    def _windows(self, stride: int) -> Set[int]:
        """The shifts of windows with this stride, whose sides and paddings are numbers that the file keeps."""
        return {2 * padding - side + stride for side in (*self._fixed, stride) for padding in (0, *self._fixed)}

    def _part(self, values: Whole) -> str | None:
        """A product divided into parts, rounded up, or shifted by one."""
        found: list[tuple[str, tuple[str, int] | None]] = []
        for product, text in self._products.items():
            shifts = {v - p for v, p in zip(values, product, strict=True)}
            if shifts in ({1}, {-1}):
                return f"{text} {'+' if shifts == {1} else '-'} 1"
            for divisor in self._divisors:
                if all(v * divisor == p for v, p in zip(values, product, strict=True)):
                    found.append((f"{text} // {divisor}", (text, divisor)))
                    self._divides(text, divisor)
                elif all(v == -(-p // divisor) for v, p in zip(values, product, strict=True)):
                    found.append((f"triton.cdiv({text}, {divisor})", None))
        if not found:  # a part without a remainder, such as the channels of a group
            for divisor in range(2, MOST_PARTS + 1):
                whole = self._product(tuple(value * divisor for value in values))
                if whole is not None:
                    found = [(f"{whole} // {divisor}", (whole, divisor))]
                    self._divides(whole, divisor)
                    break
        if len(found) > 1:
            raise NotConverted(f"the number {values[0]} is {' or '.join(text for text, _ in found[:2])}")
        if not found:
            return None
        return self._part_named(values, *found[0])

    def _part_named(self, values: Whole, text: str, part_of: tuple[str, int] | None) -> str:
        return self._add(Size(self._free("part"), values, text, part_of))


class _Spelled(ast.NodeTransformer):
    def __init__(self, definitions: Mapping[str, str]) -> None:
        self.definitions = definitions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(self.definitions.get(node.id, node.id), mode="eval").body


RESERVED = frozenset({"torch", "triton", "tl", "kernel_function", "max", "tuple"})


def _factors_first(given: Mapping[K, Sequence[Whole]]) -> list[K]:
    """The keys in order, but one with a dimension that is a multiple of another's after that one: the multiple is then
    written as `2 * width`. given: dimensions at all sizes."""
    order: list[K] = []
    for key, dimensions in given.items():
        multiples = (n for n, other in enumerate(order)
                     if any(_is_multiple(one, two) for one in given[other] for two in dimensions))  # fmt: skip
        order.insert(next(multiples, len(order)), key)
    return order


def _is_multiple(one: Whole, other: Whole) -> bool:
    factors = {Fraction(a, b) if b else 0 for a, b in zip(one, other, strict=True)}
    return len(factors) == 1 < len(set(other)) and min(factors) > 1 and min(factors) % 1 == 0


def _whole(values: Values) -> Whole | None:
    return tuple(int(one) for one in values) if all(math.isfinite(one) and one == int(one) for one in values) else None


def _shared_rest(values: Whole) -> tuple[int, int] | None:
    """The largest modulus of which all values are multiples, with the remainder 0; (2, 1) where all are odd; else
    None."""
    return next(
        ((m, 0) for m in MODULI if all(one % m == 0 for one in values)), (2, 1) if all(v % 2 for v in values) else None
    )


def _value(text: str, known: Mapping[str, int]) -> int | None:
    """The value of a product of names and numbers; None where a name is not known."""
    factors = [int(one) if one.isdigit() else known.get(one) for one in text.split(" * ")]
    whole = [one for one in factors if one is not None]
    return math.prod(whole) if len(whole) == len(factors) else None


def _inverse(values: Values, root: int) -> Whole | None:
    """The integers whose inverse roots these values are, up to the last digits of a double; None where there are
    none."""
    if any(one <= 0 or not math.isfinite(one) for one in values):
        return None
    near = tuple(round(one**-root) for one in values)
    is_near = all(n and abs(n ** (-1 / root) - one) <= 1e-14 * one for n, one in zip(near, values, strict=True))
    return near if is_near else None


def _joined(names: tuple[str, ...], number: int) -> str:
    factors = [str(number)] * (number != 1 or not names) + list(names)
    return " * ".join(factors)
