"""Inference of size expressions: the expression of the arguments' shapes that a number has, from its values at several
sizes.

A number is a product of dimensions (`known`), a dimension after a window, a sum of dimensions, a product divided into
parts, or a fraction of dimensions (`formulas`). Where two expressions fit, or none, the conversion ends; nothing is
guessed. A property that all compared sizes share (a dimension is even, a product divides without remainder) may be the
reason for an omitted mask, so sizes without it are refused.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from fractions import Fraction
from typing import TypeVar

from kernelwright.inductor.compare import Values
from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.formulas import Formulas
from kernelwright.inductor.known import Known, Size, Whole
from kernelwright.model import Split

K = TypeVar("K")

MODULI = (32, 16, 8, 4, 2)
"""Moduli that are checked for a dimension whose values may all be multiples. 32 is the number of parts into which
Inductor splits a reduction."""

MOST_FIXED = 64
"""Maximum divisor among the numbers that the problem file keeps at all sizes, such as a window's side or the number of
groups."""

LEAST_PART = 256
"""Minimum number of elements that a part of a reduction has at small sizes: a derived case of 20,000 elements
(`worker/reference/derive.py`) then has some dozens of parts, which an interpreter runs in a second."""


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
        self.known = Known(taken=shapes)
        fixed = {one[name] for one in numbers[:1] for name in one if 1 < one[name] <= MOST_FIXED
                 and len({each.get(name) for each in numbers}) == 1}  # fmt: skip
        divisors = {one for one in constants if 1 < one <= 1 << 16}
        self._formulas = Formulas(self.known, divisors, fixed, self._at_other_sizes)
        self.dimensions: dict[str, tuple[str, ...]] = {}
        self._splits = list(dict.fromkeys(zip(*splits, strict=False)))
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
                text = self.known.product(values)
                if text is None:
                    text = self._named(numbers, values) or f"{argument}_size{place}"
                    self.known.add(Size(text, values))
                    self._new[argument].append(place)
                    if (shared := _shared_rest(values)) is not None:
                        self.known.rests[text] = shared
                texts[place] = text
            self._new[argument].sort()
            self.dimensions[argument] = tuple(texts)

    @property
    def restrictions(self) -> int:
        """How many sizes are fixed, equal another dimension, or must be multiples."""
        texts = [text for dimensions in self.dimensions.values() for text in dimensions]
        return len(self.known.rests) + sum(map(str.isdigit, texts))

    def serve(self, shapes: Mapping[str, Whole]) -> bool:
        """Whether the host code accepts arguments of these shapes."""
        known = self._known_at(shapes)
        if known is None:
            return False
        rests = [(_value(text, known), *rest) for text, rest in self.known.rests.items()]
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
        for one in self.known.sizes:
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
        shifted = {one.name: one.definition for one in self.known.sizes if one.definition and "//" not in one.definition
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
        read = " ".join([read, *self.known.rests])
        computed: list[str] = []
        for one in reversed(self.known.sizes):
            if one.definition and re.search(rf"\b{one.name}\b", read):
                computed.insert(0, f"{one.name} = {one.definition}")
                read += f" {one.definition}"
        found += computed
        for text, (divisor, rest) in self.known.rests.items():
            product = f"({text})" if " " in text else text
            what = f"a multiple of {divisor}" if rest == 0 else "odd"
            found.append(f"if {product} % {divisor} != {rest}:")
            found.append(f'    raise ValueError("the kernels serve sizes where {text} is {what}")')
        return found

    def solve(self, holes: Mapping[str, Values]) -> dict[str, str]:
        """An expression for each hole, using names of the host code. Raises `NotConverted`."""
        found: dict[str, str] = {}
        splits = [one for one in self._splits if tuple(each.count for each in one) in holes.values()]
        of = self._formulas
        searches = (self.known.product, of.quotient, of.window, of.part, of.shifted)
        for search in (*searches, of.padded_window, *searches, of.sum, *searches):
            for _ in holes:  # a size just found may be a factor of another number
                before = len(found)
                splits = [one for one in splits if not self._add_split(one)]
                for name, values in sorted(holes.items(), key=lambda one: abs(one[1][0])):
                    whole = _whole(values)
                    text = None if name in found or whole is None else self.known.product(whole) or search(whole)
                    if text is not None:
                        found[name] = text
                if len(found) == before:
                    break
        for name, values in holes.items():
            for root in (1, 2, 4):
                if name not in found and (inverse := _inverse(values, root)) and (text := self.known.product(inverse)):
                    found[name] = f"({text}) ** -{1 / root}"
            if name not in found and (text := of.fraction(values)) is not None:
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
        length = self.known.product(tuple(one.length for one in split))
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
                self.known.divides(length, chosen)
        name = self.known.add_part(part, f"max({least}, {over.format(length, chosen)})", None)
        counts = tuple(one.count for one in split)
        count = self.known.add(Size(self.known.free("splits"), counts, over.format(length, name)))
        self.known.wholes += [{name, count}] * is_exact
        return True

    def _named(self, numbers: Sequence[Mapping[str, int]], values: Whole) -> str | None:
        """The problem's own name for a number, where it has one that is free in the host code."""
        for name in numbers[0]:
            is_free = name.isidentifier() and not keyword.iskeyword(name) and name not in {*self.known.taken, *RESERVED}
            if is_free and tuple(one.get(name) for one in numbers) == values:
                return name
        return None


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
