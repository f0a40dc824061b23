"""The value of a graph's node at an index, as text of Triton.

An index is a sum of variables with factors. Views become arithmetic of indices, operators that work on each element
become text, and everything else is loaded. A variable that a view divides is cut into two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch import SymFloat, SymInt, Tensor
from torch.fx import Node

from kernelwright.worker.structures.arguments import Arguments, NotWritten, is_whole
from kernelwright.worker.structures.elementwise import (
    FLOATS,
    INTEGERS,
    element,
    is_elementwise,
    number_text,
    triton_dtype,
)
from kernelwright.worker.structures.sides import COPIES, MOVES, VIEWS

aten = torch.ops.aten

Index = tuple[Any, ...]

CASTS = (aten._to_copy.default, torch.ops.prims.convert_element_type.default)

OTHER_VIEWS = (aten.slice.Tensor, aten.select.int, aten.squeeze.dim, aten.squeeze.dims, operator.getitem)

SPLITS = (aten.split.Tensor, aten.split_with_sizes.default)

JOINED = (aten.cat.default, aten.stack.default)

COUNTS = (aten.arange.default, aten.arange.start, aten.arange.start_step)


class Cut(Exception):
    """A view divides a variable. sizes: of the parts, the slower one first. is_choice: whether the slower one says
    which part of a concatenation is read."""

    def __init__(self, variable: sympy.Symbol, sizes: tuple[Any, Any], is_choice: bool) -> None:
        super().__init__(variable)
        self.variable, self.sizes, self.is_choice = variable, sizes, is_choice


class Unroll(Exception):
    """A part of a concatenation depends on a variable, each of whose values needs text for itself."""

    def __init__(self, variable: sympy.Symbol) -> None:
        super().__init__(variable)
        self.variable = variable


class Values:
    """Text of values in one part of a kernel. sizes, words, masks: of the variables: their ends, their text, which may
    be a tile, and that of whether they are inside; "" where they always are. known: text at an index of nodes that the
    kernel computes itself. is_inside: which other nodes are computed in the kernel.

    tensors, numbers: what is read, by name, shared by the parts of a kernel. lines: of the text. seen: nodes that were
    written.
    """

    def __init__(
        self, sizes: Mapping[sympy.Symbol, Any], words: Mapping[sympy.Symbol, str], masks: Mapping[sympy.Symbol, str],
        known: Mapping[Node, Callable[[Index], str]], is_inside: Callable[[Node], bool], arguments: Arguments,
    ) -> None:  # fmt: skip
        self._sizes, self._words, self._masks, self._known = sizes, words, masks, known
        self.is_inside, self.arguments = is_inside, arguments
        self._names: dict[tuple[Node, Index], str] = {}
        self.lines: list[str] = []
        self.seen = set[Node]()

    def at(self, node: Node, index: Index) -> str:
        """The name or text of the value. Raises `NotWritten` and `Cut`."""
        if node in self._known:
            return self._known[node](index)
        if (found := self._names.get((node, index))) is None:
            is_written = self.is_inside(node) or (not node.all_input_nodes and is_elementwise(node))
            found = self._names[node, index] = self._written(node, index) if is_written else self._load(node, index)
        return found

    def _written(self, node: Node, index: Index) -> str:
        self.seen.add(node)
        source = node.args[0] if node.args else None
        if node.target in CASTS and isinstance(source, Node):
            return self._cast(self.at(source, index), source.meta["val"].dtype, node.meta["val"].dtype)
        if node.target in JOINED:
            return self._joined(node, index)
        if node.target in COUNTS:
            return self._counted(node, index)
        before = self.before(node, index)
        return self._computed(node, index) if before is None else self.at(*before)

    def _computed(self, node: Node, index: Index) -> str:
        return self._named(element(node, lambda one: self.said(one, index)))

    def said(self, given: Any, index: Index) -> str:
        """The text of an operand of an elementwise operator."""
        if not isinstance(given, Node):
            return number_text(given)
        if isinstance(given.meta["val"], SymInt | SymFloat):
            return self.arguments.number(given)
        return self.at(given, self.broadcast(given, index))

    def _cast(self, word: str, before: torch.dtype, after: torch.dtype) -> str:
        """Floating-point values are of float32 in a kernel."""
        if before in FLOATS and after in FLOATS:
            return word
        return self._named(f"{word}.to({triton_dtype(after)})")

    def _counted(self, node: Node, index: Index) -> str:
        """An element of `arange`."""
        numbers = [one for one in node.args if isinstance(one, int)]
        if len(numbers) != len(node.args) or not index[0].is_Integer:
            return self._load(node, index)
        start, step = (0, 1) if len(numbers) == 1 else (numbers[0], numbers[2] if len(numbers) > 2 else 1)
        return self._named(f"tl.full((), {start + step * int(index[0])}, {triton_dtype(node.meta['val'].dtype)})")

    def _joined(self, node: Node, index: Index) -> str:
        """A concatenation or a stack: the part that the index says. Raises `Cut` and `Unroll`."""
        parts: Any = node.args[0]
        dim = (int(node.args[1]) if len(node.args) > 1 else 0) % len(index)  # type: ignore[arg-type]
        rest, is_new = index[dim], node.target is aten.stack.default
        for part in parts:
            size = sympy.Integer(1) if is_new else self.arguments.sides(part)[dim]
            least, most = self._limits(rest)
            if _is_natural(sympy.expand(size - 1 - most)) and _is_natural(least):
                return self.at(part, (*index[:dim], *(() if is_new else (rest,)), *index[dim + 1 :]))
            if not _is_natural(sympy.expand(least - size)):
                raise self._needed(rest, size, is_choice=True)
            rest = sympy.expand(rest - size)
        raise NotWritten(node)

    def before(self, node: Node, index: Index) -> tuple[Node, Index] | None:
        """What a view or a copy is of, and the index there."""
        source = node.args[0] if node.args else None
        if not isinstance(source, Node):
            return None
        if node.target is operator.getitem:
            if source.target not in SPLITS:
                return None
            self.seen.add(source)
            whole, lengths, *rest = source.args
            place, dim = int(node.args[1]), int(rest[0] if rest else 0) % len(index)  # type: ignore[arg-type]
            before = [lengths] * place if isinstance(lengths, int | Node) else [*lengths][:place]  # type: ignore[misc]
            shifted = sympy.expand(index[dim] + sum(map(self.arguments.expression, before)))
            return whole, (*index[:dim], shifted, *index[dim + 1 :])  # type: ignore[return-value]
        found = self._viewed(node, source, index)
        return None if found is None else (source, found)

    def _viewed(self, node: Node, source: Node, index: Index) -> Index | None:
        """The index in what a view or a copy is of."""
        target, sizes, rest = node.target, self.arguments.sides(source), node.args[1:]
        if target in (*COPIES, *CASTS) and target is not aten.slice.Tensor:
            return index if sizes == self.arguments.sides(node) else None
        if target is aten.expand.default:
            return self.broadcast(source, index)
        if target is aten.slice.Tensor:
            given: list[Any] = [*rest, *[0, 0, None, 1][len(rest) :]]
            dim, step = int(given[0]) % len(index), self.arguments.expression(given[3])
            first = self.arguments.expression(given[1] or 0)
            first += sizes[dim] if first.is_negative else 0
            return (*index[:dim], sympy.expand(index[dim] * step + first), *index[dim + 1 :])
        if target is aten.select.int:
            dim, place = (int(one) for one in rest)  # type: ignore[arg-type]
            dim %= len(sizes)
            return (*index[:dim], sizes[dim] + place if place < 0 else sympy.Integer(place), *index[dim:])
        if target in (*VIEWS, aten.squeeze.dim, aten.squeeze.dims, aten.unsqueeze.default):
            return self.divided(self._place(index, self.arguments.sides(node)), sizes)
        order = [*range(len(sizes))]
        if target is aten.permute.default:
            given = [*rest[0]]  # type: ignore[misc]
            order = [one % len(sizes) for one in given]
        elif target is aten.t.default:
            order.reverse()
        elif target is aten.transpose.int:
            one, other = (int(place) % len(sizes) for place in rest)  # type: ignore[arg-type]
            order[one], order[other] = order[other], order[one]
        else:
            return None
        return tuple(index[order.index(place)] for place in range(len(sizes)))

    def broadcast(self, given: Any, index: Index) -> Index:
        """The index of an operand's element, by that of the result. given: any argument of an operator."""
        if not isinstance(given, Node) or not isinstance(given.meta["val"], Tensor):
            return ()
        sizes = self.arguments.sides(given)
        own = index[len(index) - len(sizes) :]
        return tuple(sympy.Integer(0) if size == 1 else place for size, place in zip(sizes, own, strict=True))

    def _place(self, index: Index, sizes: Sequence[Any]) -> Any:
        place = sympy.Integer(0)
        for one, size in zip(index, sizes, strict=True):
            place = sympy.expand(place * size + one)
        return place

    def divided(self, place: Any, sizes: Sequence[Any]) -> Index:
        """The index, in a tensor of these sizes, of an element by its place. Raises `Cut`."""
        found = list[Any]()
        for side, size in reversed([*enumerate(sizes)]):
            high, low = self._split(place, size) if side else (sympy.Integer(0), place)
            if side and not _is_natural(sympy.expand(size - 1 - self._limits(low)[1])):
                raise self._needed(low, size)
            place = high
            found.append(low)
        return tuple(reversed(found))

    def _needed(self, place: Any, size: Any, is_choice: bool = False) -> Exception:
        """What makes a size divide a sum: a cut, or text for each value of a variable."""
        for variable, length in self._sizes.items():
            inner = sympy.cancel(size / factor) if (factor := place.coeff(variable)) != 0 else sympy.Integer(0)
            outer = sympy.cancel(length / inner) if inner != 0 else inner
            if inner == 1 and length != 1:
                return Unroll(variable)
            if inner != 0 and outer != 1 and is_whole(inner) and is_whole(outer):
                return Cut(variable, (outer, inner), is_choice)
        return NotWritten(f"{place} in sides of {size}")

    def _split(self, place: Any, size: Any) -> tuple[Any, Any]:
        """What a size divides of a sum, and the rest."""
        high = low = sympy.Integer(0)
        for term in sympy.Add.make_args(sympy.expand(place)):
            by = sympy.cancel(term / size)
            factor, _ = by.as_independent(*self._sizes, as_Add=False)
            if is_whole(factor):
                self.arguments.note(factor)
                high += by
            elif term.is_Integer and sympy.sympify(size).is_Integer:
                high, low = high + term // size, low + term % size
            else:
                low += term
        return sympy.expand(high), sympy.expand(low)

    def _limits(self, place: Any) -> tuple[Any, Any]:
        """The least and the greatest value of a sum whose variables have no negative factors."""
        greatest = {one: size - 1 for one, size in self._sizes.items()}
        return place.subs(dict.fromkeys(greatest, 0)), sympy.expand(place.subs(greatest, simultaneous=True))

    def _load(self, node: Node, index: Index) -> str:
        dtype = node.meta["val"].dtype
        if dtype not in (*FLOATS, *INTEGERS):
            raise NotWritten(node)
        name = self.arguments.tensor(node)
        places, variables = list[str](), list[sympy.Symbol]()
        for side, place in enumerate(index):
            if place != 0:
                places.append(f"{self._text(place)} * {name}_{side}")
                variables += [one for one in self._sizes if place.has(one) and one not in variables]
        masks = [*dict.fromkeys(self._masks[one] for one in variables if self._masks.get(one))]
        text = f"tl.load({' + '.join([f'{name}_ptr', *places])}"
        text += f", mask={' & '.join(masks)}, other=0)" if masks else ")"
        return self._named(f"{text}.to(tl.float32)" if dtype in FLOATS else text)

    def _text(self, place: Any) -> str:
        terms = []
        for term in sympy.Add.make_args(place):
            factor, variable = term.as_independent(*self._sizes, as_Add=False)
            words = [] if variable == 1 else [self._words[variable]]
            words += [] if factor == 1 and words else [self.arguments.size(factor)]
            terms.append(" * ".join(words))
        return f"({' + '.join(terms)})" if len(terms) > 1 else terms[0]

    def _named(self, text: str) -> str:
        name = self.arguments.next_name()
        self.lines.append(f"{name} = {text}")
        return name


def _is_natural(value: Any) -> bool:
    """Whether an expression is 0 or more wherever sizes are 1 or more."""
    symbols = sorted(sympy.sympify(value).free_symbols, key=str)
    if not symbols:
        return bool(value >= 0)
    moved = sympy.expand(value.subs({one: one + 1 for one in symbols}, simultaneous=True))
    return all(one >= 0 for one in sympy.Poly(moved, *symbols).coeffs())


VIEWED = (*COPIES, *MOVES, *VIEWS, *OTHER_VIEWS, *SPLITS)
"""Operators that compute nothing, beside `JOINED` and `COUNTS`."""
