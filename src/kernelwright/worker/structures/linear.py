"""Products with few rows, which take as long as their weights are read: the weights are read as they are stored.

It matches `x @ w` with up to 64 rows, where w is stored as it is, or is an elementwise function of narrower storage.
That function is computed in the kernel: nibbles, groups, zero points, whatever the graph has. Factors that do not
change along a block of the sum are multiplied with its sums. The sum is divided among programs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import sympy
import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from kernelwright.worker.structures.arguments import Arguments
from kernelwright.worker.structures.elementwise import FLOATS
from kernelwright.worker.structures.found import Found
from kernelwright.worker.structures.fused import (
    MOST_STEPS,
    MOST_UNROLLED,
    Fused,
    K,
    M,
    N,
    factors,
    fused,
    is_computed,
    is_view,
)
from kernelwright.worker.structures.linear_kernels import Parts, written_as
from kernelwright.worker.structures.masks import hint_of
from kernelwright.worker.structures.values import CASTS, Index, Values

aten = torch.ops.aten

MOST_ROWS = 64

LEAST_WEIGHTS = 1 << 18
"""Elements. A product with fewer takes as long as a launch."""

SCALES = (aten.mul.Tensor, aten.div.Tensor, aten.mul.Scalar, aten.div.Scalar)


def find_linear(graph: GraphModule) -> Iterator[Found]:
    """Every product with few rows in a graph."""
    return fused(graph, _is_served, _written)


def _is_served(x: Tensor, w: Tensor) -> bool:
    is_large = hint_of(w.shape[0]) * hint_of(w.shape[1]) >= LEAST_WEIGHTS
    return x.dim() == 2 and hint_of(x.shape[0]) <= MOST_ROWS and is_large and x.dtype == w.dtype and x.dtype in FLOATS


def _is_packed(w: Node) -> bool:
    """Whether weights are computed from integers, or from a narrower dtype."""
    found, left = set[Node](), [w]
    while left and len(found) <= MOST_STEPS:
        node = left.pop()
        found.add(node)
        dtype = node.meta["val"].dtype
        if not dtype.is_floating_point or dtype.itemsize < w.meta["val"].dtype.itemsize:
            return True
        left += [one for one in node.all_input_nodes if is_computed(node) and one not in found
                 and isinstance(one.meta["val"], Tensor)]  # fmt: skip
    return False


def _written(made: Fused) -> Found | None:
    depth = dict(made.cuts[K])
    loops = [one for one in depth if one not in made.unrolled]
    unrolled = {one: size for one, size in depth.items() if one in made.unrolled}
    if not 1 <= len(loops) <= 2 or any(not size.is_Integer or size > MOST_UNROLLED for size in unrolled.values()):
        return None
    sizes = {one: size for leaves in made.cuts.values() for one, size in leaves}
    arguments = Arguments(made.graph)
    parts = Parts(made, arguments, [(one, depth[one]) for one in loops])
    if (result := made.result(arguments, *parts.words("[None, :]", "[:, None]", ""))) is None:
        return None
    keys, parts.epilogue = result
    words, masks = parts.words("[None, :]", "", "[None, :]" if parts.is_vector else "[:, None]")
    x = Values(sizes, words, masks, {}, is_view, arguments)
    words, masks = parts.words("", "[:, None]", "[None, :]")
    once = Values(sizes, words, masks, {}, is_computed, arguments)
    weights = {node: Values(sizes, words, masks, {}, is_computed if _is_packed(factors(node)[1]) else is_view,
                            arguments) for node in made.products}  # fmt: skip
    pieces = [dict(zip(unrolled, map(sympy.Integer, numbers), strict=True))
              for numbers in itertools.product(*(range(int(size)) for size in unrolled.values()))]  # fmt: skip
    peeled = {(name, place): _peeled(weights[node], factors(node)[1], (
                  made.whole(K).subs(at), sympy.expand(made.whole(N) + offset)), loops[-1])
              for (node, offset), name in keys.items() for place, at in enumerate(pieces)}  # fmt: skip
    shared = {name: [one for one in peeled[name, 0][2] if not _depends(one[2], depth)
                     and all(one in peeled[name, place][2] for place in range(len(pieces)))]
              for name in keys.values()}  # fmt: skip
    for place, at in enumerate(pieces):
        row = (made.whole(M), made.whole(K).subs(at))
        read = {x.at(factors(node)[0], row) for node in made.products}
        if len(read) != 1:
            return None
        parts.begin(x.lines, read.pop())
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
    return written_as(parts, *(one.meta["val"] for one in factors(made.first)))


def _peeled(values: Values, node: Any, index: Index, along: sympy.Symbol) -> tuple[Any, Index, list[Any]]:
    """Weights without the last factors that are the same along a variable; these factors, with their signs and
    indices."""
    scales = list[Any]()
    while values.is_inside(node):
        if is_view(node) or (node.target in CASTS and _is_float(node.args[0])):
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
