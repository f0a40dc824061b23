"""Products of one x, and what is done to each element of their result, as one kernel: biases, activations, and another
product of the same x, as in gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import sympy
import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from kernelwright.model import Structure
from kernelwright.worker.structures.arguments import Arguments, NotWritten
from kernelwright.worker.structures.chain import users
from kernelwright.worker.structures.elementwise import FLOATS, INTEGERS, is_elementwise
from kernelwright.worker.structures.found import Found, filled
from kernelwright.worker.structures.values import (
    CASTS,
    COUNTS,
    JOINED,
    VIEWED,
    Cut,
    Index,
    Unroll,
    Values,
)

aten = torch.ops.aten

PLACES: Mapping[Any, int] = {
    aten.mm.default: 0, aten.addmm.default: 1, aten.bmm.default: 0, aten.baddbmm.default: 1,
    **{one.dtype: 0 for one in (aten.mm, aten.bmm) if "dtype" in one.overloads()},
}  # fmt: skip
"""The place of x among the arguments of a product; the weights are the next."""

BIASED = (aten.addmm.default, aten.baddbmm.default)

MOST_PRODUCTS = 2
"""In one kernel: each has its sums in registers."""

MOST_UNROLLED = 8
"""Values of a variable that are written out, such as the nibbles of a word."""

MOST_STEPS = 48
"""Elementwise steps before or after a product."""

MOST_CUTS = 8

B, M, N, K = (sympy.Symbol(name, integer=True, nonnegative=True) for name in ("b", "m", "n", "k"))


def fused(
    graph: GraphModule, is_served: Callable[[Tensor, Tensor], bool], write: Callable[[Fused], Found | None]
) -> Iterator[Found]:
    """Every kernel of products in a graph. is_served: whether a product of these factors begins one. write: the kernel,
    None where it cannot be written; it may raise `Cut`, `Unroll` and `NotWritten`."""
    after = {node: _after(node) for node in graph.graph.nodes if node.target in PLACES and not node.kwargs
             and is_served(*(one.meta["val"] for one in factors(node)))}  # fmt: skip
    done = set[Node]()
    for first in after:
        for root in reversed([first, *after[first]]):
            one = Fused(graph, first, root, after)
            if first not in done and (found := one.found(write)) is not None:
                done |= one.products
                yield found


def factors(product: Node) -> tuple[Any, Any]:
    place = PLACES[product.target]
    return product.args[place], product.args[place + 1]


def _after(product: Node) -> list[Node]:
    """Elementwise steps and views that depend on a product, in order."""
    found, left = {product}, [product]
    while left and len(found) <= MOST_STEPS:
        for user in users(left.pop()):
            if user not in found and is_computed(user):
                found.add(user)
                left.append(user)
    return [node for node in product.graph.nodes if node in found and node is not product]


def is_view(node: Node) -> bool:
    return node.target in VIEWED


def is_computed(node: Node) -> bool:
    return node.target in (*CASTS, *VIEWED, *JOINED, *COUNTS) or is_elementwise(node)


class Fused:
    """A kernel in the making. root: its result. after: the elementwise steps after each product. cuts: what its rows,
    columns and sums are cut into, and with them the products of a batch, if it is one. products: those that it
    computes, once it is found."""

    def __init__(self, graph: GraphModule, first: Node, root: Node, after: Mapping[Node, list[Node]]) -> None:
        self.graph, self.first, self.root, self._after = graph, first, root, after
        self._inside = set[Node]().union(*([one, *steps] for one, steps in after.items()))
        self.cuts: dict[sympy.Symbol, list[tuple[sympy.Symbol, Any]]] = {}
        self.unrolled = set[sympy.Symbol]()
        self.sides = Arguments(graph).sides
        self.products = set[Node]()

    def found(self, write: Callable[[Fused], Found | None]) -> Found | None:
        """None where it cannot be written."""
        made = self.root.meta["val"]
        if not isinstance(made, Tensor) or made.dtype not in (*FLOATS, *INTEGERS):
            return None
        (*batch, rows, depth), sides = self.sides(factors(self.first)[0]), self.sides(self.root)
        if not sides or sympy.expand(sympy.prod(sides) - sympy.prod(batch) * rows * sides[-1]) != 0:
            return None
        whole = {**dict(zip((B,), batch, strict=False)), M: rows, N: sides[-1], K: depth}
        self.cuts = {one: [(one, size)] for one, size in whole.items()}
        for _ in range(MOST_CUTS):
            try:
                return write(self)
            except Cut as cut:
                self._cut(cut)
            except Unroll as unroll:
                if unroll.variable in self.unrolled:
                    return None
                self.unrolled.add(unroll.variable)
            except NotWritten:
                return None
        return None

    def _cut(self, cut: Cut) -> None:
        whole = next(one for one, leaves in self.cuts.items() if cut.variable in dict(leaves))
        place = [one for one, _ in self.cuts[whole]].index(cut.variable)
        names = [sympy.Symbol(f"{cut.variable}_{number}", integer=True, nonnegative=True) for number in (1, 2)]
        self.cuts[whole][place : place + 1] = [*zip(names, cut.sizes, strict=True)]
        is_last = self.cuts[K][-1][0] is names[1]
        if is_last and cut.sizes[1].is_Integer and cut.sizes[1] <= MOST_UNROLLED:
            self.unrolled.add(names[1])
        self.unrolled |= {*names[:1]} if cut.is_choice else set()

    def whole(self, variable: sympy.Symbol) -> Any:
        """A variable as a sum of those that it is cut into."""
        total = sympy.Integer(0)
        for one, size in self.cuts[variable]:
            total = total * size + (0 if size == 1 else one)
        return sympy.expand(total)

    def words(self, tiles: Mapping[sympy.Symbol, str]) -> tuple[dict[Any, str], dict[Any, str]]:
        """Text and masks of variables in a tile. tiles: how each becomes one; "" for a scalar, which has no mask."""
        leaves = [(one, of, tile) for of, tile in tiles.items() for one, _ in self.cuts.get(of, ())]
        return {one: f"{one}{tile}" for one, _, tile in leaves}, {
            one: f"in_{of}{tile}" for one, of, tile in leaves if tile
        }

    def lines(self, arguments: Arguments) -> list[str]:
        """Lines that compute the variables which all but the sums are cut into."""
        lines = []
        for variable, leaves in self.cuts.items():
            after = sympy.Integer(1)
            for place, (one, size) in reversed([*enumerate(leaves)]):
                if len(leaves) > 1 and variable is not K:
                    word = str(variable) if after == 1 else f"{variable} // ({arguments.size(after)})"
                    lines.append(f"{one} = {word}" + (f" % {arguments.size(size)}" if place else ""))
                after = sympy.expand(after * size)
        return lines

    def result(
        self, arguments: Arguments, words: Mapping[Any, str], masks: Mapping[Any, str]
    ) -> tuple[dict[tuple[Node, Any], str], list[str]] | None:
        """The names of sums, each of a product and of where its columns begin, and the lines that compute the result
        from them. None where something else reads what is between, or the first product is none of it."""
        sizes = {one: size for leaves in self.cuts.values() for one, size in leaves}
        keys = dict[tuple[Node, Any], str]()
        known = {one: self._sums(one, keys, lambda node, index: values.said(node, index)) for one in self._after}
        values = Values(sizes, words, masks, known, lambda node: node in self._inside or is_view(node), arguments)
        sides, place = self.sides(self.root), self.whole(M)
        if B in self.cuts:
            place += self.whole(B) * self.sides(factors(self.first)[0])[1]
        result = values.at(self.root, values.divided(sympy.expand(place * sides[-1] + self.whole(N)), sides))
        self.products = {node for node, _ in keys}
        seen = self.products | values.seen
        if self.first not in self.products or len(keys) > MOST_PRODUCTS or any(
            not {*users(node)} <= seen for node in seen & self._inside if node is not self.root
        ):  # fmt: skip
            return None
        return keys, [*values.lines, f"result = {result}"]

    def _sums(self, product: Node, keys: dict[tuple[Node, Any], str], at: Callable[[Any, Index], str]) -> Any:
        """The text of a product at an index; its columns may begin further on. keys: the names of sums."""

        def text(index: Index) -> str:
            *batch, row, column = index
            offset = sympy.expand(column - self.whole(N))
            rows = [(M, row), *zip((B,), batch, strict=False)]
            if any(one not in self.cuts or sympy.expand(place - self.whole(one)) != 0 for one, place in rows):
                raise NotWritten(product)
            if offset.has(*dict(self.cuts[N])):
                raise NotWritten(product)
            name = keys.setdefault((product, offset), f"acc_{len(keys) + 1}")
            return f"({name} + {at(product.args[0], index)})" if product.target in BIASED else name

        return text

    def as_found(
        self, arguments: Arguments, structure: Structure, words: Mapping[str, str], lines: Mapping[str, Sequence[str]],
        factors: Mapping[str, Node],
    ) -> Found:  # fmt: skip
        """structure: with text whose holes words and lines fill, beside those for what is read. factors: tensors that
        the kernels read otherwise than the arguments, by name, the first ones of the host function."""
        sides, dtype = self.sides(self.root), self.root.meta["val"].dtype
        shape = [arguments.size(side) for side in sides]
        places = [arguments.factors(side) for side in sides]
        given, numbers = {**factors, **arguments.tensors}, [f"{one}," for one in arguments.numbers]
        dtypes = [one.meta["val"].dtype for one in given.values()]
        like = dtypes.index(dtype) if dtype in dtypes else None
        dims = {name: count for name, node in arguments.tensors.items() if (count := node.meta["val"].dim())}
        words = {
            **words, "arguments": ", ".join([*given, *arguments.numbers]), "last": shape[-1], "shape": listed(shape),
            "like": str(dtype) if like is None else f"{[*given][like]}.dtype", "one": next(iter(given)),
        }  # fmt: skip
        lines = {
            **lines, "cuts": self.lines(arguments),
            "pointers": [f"{name}_ptr," for name in arguments.tensors],
            "pointers_given": [f"{name}," for name in arguments.tensors],
            "parameters": [*(listed(f"{name}_{side}" for side in range(count)) for name, count in dims.items()),
                           *numbers],
            "parameters_given": [*(listed(f"{name}.stride({side})" for side in range(count))
                                   for name, count in dims.items()), *numbers],
            "checked": [line for one in arguments.whole for line in (
                f"if {one}:", f'    raise ValueError("the kernels serve sizes with {one} == 0 only")')],
        }  # fmt: skip
        structure = msgspec.structs.replace(
            structure, source=filled(structure.source, lines, words), like=like or 0,
            dtype=str(dtype).removeprefix("torch.") if like is None else "",
            shape=tuple(tuple((len(given) + place, 0) for place in one) for one in places),
        )  # fmt: skip
        return Found(node=self.root, tensors=tuple(given.values()), numbers=tuple(arguments.numbers.values()),
                     structure=structure)  # fmt: skip


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) + ","
