"""Products with few rows, which take as long as their weights are read: the weights are read as they are stored.

It matches `x @ w` with up to 64 rows, where w is stored as it is, or is an elementwise function of narrower storage.
That function is computed in the kernel: nibbles, groups, zero points, whatever the graph has. Factors that do not
change along a block of the sum are multiplied with its sums. The sum is divided among programs. What is done to each
element of the result is computed in the kernel, too: biases, activations, and another product of the same x, as in
gates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import sympy
import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from kernelwright.worker.structures.arguments import Arguments, NotWritten
from kernelwright.worker.structures.chain import users
from kernelwright.worker.structures.found import Found
from kernelwright.worker.structures.linear_kernels import Parts, written_as
from kernelwright.worker.structures.masks import hint_of
from kernelwright.worker.structures.values import (
    CASTS,
    COUNTS,
    FLOATS,
    INTEGERS,
    JOINED,
    OPERATORS,
    VIEWED,
    Cut,
    Index,
    Unroll,
    Values,
)

aten = torch.ops.aten

PLACES: Mapping[Any, int] = {
    aten.mm.default: 0, aten.addmm.default: 1, **({aten.mm.dtype: 0} if "dtype" in aten.mm.overloads() else {}),
}  # fmt: skip
"""The place of x among the arguments of a product; the weights are the next."""

MOST_ROWS = 64

LEAST_WEIGHTS = 1 << 18
"""Elements. A product with fewer takes as long as a launch."""

MOST_PRODUCTS = 2
"""In one kernel: each has its sums in registers."""

MOST_UNROLLED = 8
"""Values of a variable that are written out, such as the nibbles of a word."""

MOST_STEPS = 48
"""Elementwise steps before or after a product."""

MOST_CUTS = 8

SCALES = (aten.mul.Tensor, aten.div.Tensor, aten.mul.Scalar, aten.div.Scalar)

M, N, K = (sympy.Symbol(name, integer=True, nonnegative=True) for name in ("m", "n", "k"))


def find_linear(graph: GraphModule) -> Iterator[Found]:
    """Every product with few rows in a graph."""
    after = {node: _after(node) for node in graph.graph.nodes if node.target in PLACES and _is_served(node)}
    done = set[Node]()
    for first in after:
        for root in reversed([first, *after[first]]):
            one = _Linear(graph, first, root, after)
            if first not in done and (found := one.found()) is not None:
                done |= one.products
                yield found


def _is_served(node: Node) -> bool:
    x, w = (one.meta["val"] for one in _factors(node))
    is_large = hint_of(w.shape[0]) * hint_of(w.shape[1]) >= LEAST_WEIGHTS
    is_few = hint_of(x.shape[0]) <= MOST_ROWS and not node.kwargs
    return is_few and is_large and x.dtype == w.dtype and x.dtype in FLOATS


def _factors(product: Node) -> tuple[Any, Any]:
    place = PLACES[product.target]
    return product.args[place], product.args[place + 1]


def _after(product: Node) -> list[Node]:
    """Elementwise steps and views that depend on a product, in order."""
    found, left = {product}, [product]
    while left and len(found) <= MOST_STEPS:
        for user in users(left.pop()):
            if user not in found and _is_computed(user):
                found.add(user)
                left.append(user)
    return [node for node in product.graph.nodes if node in found and node is not product]


def _is_view(node: Node) -> bool:
    return node.target in VIEWED


def _is_computed(node: Node) -> bool:
    return node.target in OPERATORS or node.target in (*CASTS, *VIEWED, *JOINED, *COUNTS)


def _is_packed(w: Node) -> bool:
    """Whether weights are computed from integers, or from a narrower dtype."""
    found, left = set[Node](), [w]
    while left and len(found) <= MOST_STEPS:
        node = left.pop()
        found.add(node)
        dtype = node.meta["val"].dtype
        if not dtype.is_floating_point or dtype.itemsize < w.meta["val"].dtype.itemsize:
            return True
        left += [one for one in node.all_input_nodes if _is_computed(node) and one not in found
                 and isinstance(one.meta["val"], Tensor)]  # fmt: skip
    return False


class _Linear:
    """A kernel in the making. root: its result. after: the elementwise steps after each product. products: those that
    it computes, once it is found."""

    def __init__(self, graph: GraphModule, first: Node, root: Node, after: Mapping[Node, list[Node]]) -> None:
        self._graph, self._first, self._root, self._after = graph, first, root, after
        self._inside = set[Node]().union(*([one, *steps] for one, steps in after.items()))
        self._cuts: dict[sympy.Symbol, list[tuple[sympy.Symbol, Any]]] = {}
        self._unrolled = set[sympy.Symbol]()
        self._sides = Arguments(graph).sides
        self.products = set[Node]()

    def found(self) -> Found | None:
        """None where it cannot be written."""
        made = self._root.meta["val"]
        if not isinstance(made, Tensor) or made.dtype not in (*FLOATS, *INTEGERS):
            return None
        (rows, depth), sides = self._sides(_factors(self._first)[0]), self._sides(self._root)
        if not sides or sympy.expand(sympy.prod(sides) - rows * sides[-1]) != 0:
            return None
        self._cuts = {one: [(one, size)] for one, size in ((M, rows), (N, sides[-1]), (K, depth))}
        for _ in range(MOST_CUTS):
            try:
                return self._written()
            except Cut as cut:
                whole = next(one for one, leaves in self._cuts.items() if cut.variable in dict(leaves))
                place = [one for one, _ in self._cuts[whole]].index(cut.variable)
                names = [sympy.Symbol(f"{cut.variable}_{number}", integer=True, nonnegative=True) for number in (1, 2)]
                self._cuts[whole][place : place + 1] = [*zip(names, cut.sizes, strict=True)]
                is_last = self._cuts[K][-1][0] is names[1]
                if is_last and cut.sizes[1].is_Integer and cut.sizes[1] <= MOST_UNROLLED:
                    self._unrolled.add(names[1])
                self._unrolled |= {*names[:1]} if cut.is_choice else set()
            except Unroll as unroll:
                if unroll.variable in self._unrolled:
                    return None
                self._unrolled.add(unroll.variable)
            except NotWritten:
                return None
        return None

    def _whole(self, variable: sympy.Symbol) -> Any:
        """A variable as a sum of those that it is cut into."""
        total = sympy.Integer(0)
        for one, size in self._cuts[variable]:
            total = total * size + (0 if size == 1 else one)
        return sympy.expand(total)

    def _written(self) -> Found | None:
        depth = dict(self._cuts[K])
        loops = [one for one in depth if one not in self._unrolled]
        unrolled = {one: size for one, size in depth.items() if one in self._unrolled}
        if not 1 <= len(loops) <= 2 or any(not size.is_Integer or size > MOST_UNROLLED for size in unrolled.values()):
            return None
        sizes = {one: size for leaves in self._cuts.values() for one, size in leaves}
        arguments = Arguments(self._graph)
        parts = Parts(arguments, self._cuts[M], self._cuts[N], [(one, depth[one]) for one in loops])
        keys = dict[tuple[Node, Any], str]()
        known = {one: self._sums(one, keys, lambda node, index: epilogue.said(node, index)) for one in self._after}
        words, masks = parts.words("[None, :]", "[:, None]", "")
        is_inside = lambda node: node in self._inside or _is_view(node)  # noqa: E731
        epilogue = Values(sizes, words, masks, known, is_inside, arguments)
        sides = self._sides(self._root)
        parts.result = epilogue.at(self._root, epilogue.divided(self._whole(M) * sides[-1] + self._whole(N), sides))
        parts.epilogue = epilogue.lines
        self.products = {node for node, _ in keys}
        seen = self.products | epilogue.seen
        if self._first not in self.products or len(keys) > MOST_PRODUCTS or any(
            not {*users(node)} <= seen for node in seen & self._inside if node is not self._root
        ):  # fmt: skip
            return None
        words, masks = parts.words("[None, :]", "", "[None, :]" if parts.is_vector else "[:, None]")
        x = Values(sizes, words, masks, {}, _is_view, arguments)
        words, masks = parts.words("", "[:, None]", "[None, :]")
        once = Values(sizes, words, masks, {}, _is_computed, arguments)
        weights = {node: Values(sizes, words, masks, {}, _is_computed if _is_packed(_factors(node)[1]) else _is_view,
                                arguments) for node in self.products}  # fmt: skip
        pieces = [dict(zip(unrolled, map(sympy.Integer, numbers), strict=True))
                  for numbers in itertools.product(*(range(int(size)) for size in unrolled.values()))]  # fmt: skip
        peeled = {(name, place): _peeled(weights[node], _factors(node)[1], (
                      self._whole(K).subs(at), sympy.expand(self._whole(N) + offset)), loops[-1])
                  for (node, offset), name in keys.items() for place, at in enumerate(pieces)}  # fmt: skip
        shared = {name: [one for one in peeled[name, 0][2] if not _depends(one[2], depth)
                         and all(one in peeled[name, place][2] for place in range(len(pieces)))]
                  for name in keys.values()}  # fmt: skip
        for place, at in enumerate(pieces):
            row = (self._whole(M), self._whole(K).subs(at))
            factors = {x.at(_factors(node)[0], row) for node in self.products}
            if len(factors) != 1:
                return None
            parts.begin(x.lines, factors.pop())
            x.lines = []
            for (node, _), name in keys.items():
                own, (w, index, scales) = weights[node], peeled[name, place]
                word = own.at(w, index)
                factor = "".join(f" {one[0]} {own.said(*one[1:])}" for one in scales if one not in shared[name])
                parts.add(name, own.lines, word, factor)
                own.lines = []
        for name, scales in shared.items():
            parts.once += [f"{name} = {name} {sign} {once.said(given, index)}" for sign, given, index in scales]
        parts.once[:0] = once.lines
        return self._as_found(parts, arguments)

    def _sums(self, product: Node, keys: dict[tuple[Node, Any], str], at: Callable[[Any, Index], str]) -> Any:
        """The text of a product at an index; its columns may begin further on. keys: the names of sums."""

        def text(index: Index) -> str:
            row, column = index
            offset = sympy.expand(column - self._whole(N))
            if sympy.expand(row - self._whole(M)) != 0 or offset.has(*dict(self._cuts[N])):
                raise NotWritten(product)
            name = keys.setdefault((product, offset), f"acc_{len(keys) + 1}")
            if product.target is not aten.addmm.default:
                return name
            return f"({name} + {at(product.args[0], index)})"

        return text

    def _as_found(self, parts: Parts, arguments: Arguments) -> Found:
        x, w, root = (one.meta["val"] for one in (*_factors(self._first), self._root))
        structure = written_as(parts, self._sides(self._root), root.dtype, x, w)
        numbers = tuple(arguments.numbers.values())
        return Found(node=self._root, tensors=tuple(arguments.tensors.values()), numbers=numbers, structure=structure)


def _peeled(values: Values, node: Any, index: Index, along: sympy.Symbol) -> tuple[Any, Index, list[Any]]:
    """Weights without the last factors that are the same along a variable; these factors, with their signs and
    indices."""
    scales = list[Any]()
    while values.is_inside(node):
        if _is_view(node) or (node.target in CASTS and _is_float(node.args[0])):
            if (before := values.before(node, index)) is None:
                break
            node, index = before
            continue
        if node.target not in SCALES or node.kwargs:
            break
        operands = [(one, values.broadcast(one, index)) for one in node.args]
        same = [
            place for place, (_, own) in enumerate(operands) if not any(sympy.sympify(one).has(along) for one in own)
        ]
        is_quotient = node.target in SCALES[1::2]
        if not same or (is_quotient and same[-1] == 0) or not isinstance(operands[1 - same[-1]][0], Node):
            break
        scales.append(("/" if is_quotient else "*", *operands[same[-1]]))
        node, index = operands[1 - same[-1]]
    return node, index, scales


def _depends(index: Index, variables: Iterable[sympy.Symbol]) -> bool:
    return any(sympy.sympify(one).has(*variables) for one in index)


def _is_float(node: Node) -> bool:
    return bool(node.meta["val"].dtype.is_floating_point)
