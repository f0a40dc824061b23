"""Attention without the matrix of scores in memory: products over blocks of keys with a running softmax.

It matches `softmax(f(q @ k)) @ v` however it is written, where f is elementwise: factors, masks, biases, caps. Tensors
in f are read block by block. A mask that is computed from sizes alone and leaves a band of columns in each row
(causal, sliding window) is not read, and blocks outside of the band are left out. Heads of keys and values that serve
several heads of queries are read in place.

The algorithm is that of "FlashAttention-2" (Dao, arXiv:2307.08691, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch.fx import GraphModule, Node

from kernelwright.worker.structures.attention_kernels import written_as
from kernelwright.worker.structures.chain import Chain, users
from kernelwright.worker.structures.elementwise import is_elementwise
from kernelwright.worker.structures.found import Found
from kernelwright.worker.structures.masks import hint_of
from kernelwright.worker.structures.sides import COPIES, MOVES, VIEWS, Part, Side, origins, sizes_of, through

aten = torch.ops.aten

SOFTMAX: Mapping[Any, bool] = {aten._softmax.default: False, aten._safe_softmax.default: True}
"""Whether a row in which all is masked is zero, by operator; else it is NaN."""

PRODUCTS = (aten.bmm.default, *((aten.bmm.dtype,) if "dtype" in aten.bmm.overloads() else ()))

FIRST = (*PRODUCTS, aten.baddbmm.default)
"""Products that scores begin with."""

DTYPES = (torch.float16, torch.bfloat16, torch.float32)

MOST_DEPTH = 256
"""Elements of a head that one block has in shared memory beside those of keys and values."""


def find_attention(graph: GraphModule) -> Iterator[Found]:
    """Every attention in a graph."""
    leading = set[Node]()  # to a product, by steps of a chain
    for node in list(graph.graph.nodes):
        if node.target in FIRST or (_is_step(node) and leading.intersection(node.all_input_nodes)):
            leading.add(node)
        if node.target in SOFTMAX and (found := _matched(graph, node, leading)) is not None:
            yield found


def _is_step(node: Node) -> bool:
    return node.target in (*VIEWS, *COPIES, *MOVES) or is_elementwise(node)


def _matched(graph: GraphModule, softmax: Node, leading: set[Node]) -> Found | None:
    scores, dim = softmax.args[:2]
    if not isinstance(scores, Node) or dim not in (-1, softmax.meta["val"].dim() - 1):
        return None
    between, down = _between(scores, softmax, leading), _down(softmax)
    if between is None or down is None:
        return None
    (first, *steps), (*_, last) = between, down
    place = int(first.target is aten.baddbmm.default)
    factors: list[Any] = [*first.args[place : place + 2], last.args[1]]
    dtypes = {one.meta["val"].dtype for one in (*factors, last)}
    if len(dtypes) != 1 or not dtypes <= {*DTYPES}:
        return None
    heads = next(_heads(*factors), None)
    if heads is None or max(hint_of(factor.meta["val"].shape[2]) for factor in (factors[0], last)) > MOST_DEPTH:
        return None
    _, rows, columns = sizes_of(first)
    pairs = tuple(Part(place, part.size) for place, part in enumerate(heads[0].kept))
    ends = [(Part(place, size),) if size != 1 else () for place, size in ((2, rows), (3, columns))]
    begun: tuple[Side, ...] = (pairs, *ends)
    written = Chain(graph, first, begun)
    if not written.begin(first) or not all(written.add(step, steps[place:]) for place, step in enumerate(steps, 1)):
        return None
    sides: tuple[Side, ...] | None = written.sides[scores]
    for step in down[1:-1]:
        sides = None if sides is None else through(step, sides)
    if sides != begun:
        return None
    with graph.graph.inserting_before(last):
        tensors = [one.viewed(graph) for one in heads]
    q, k = (one.meta["val"] for one in tensors[:2])
    return Found(
        node=last, tensors=(*tensors, *written.tensors.values()), numbers=tuple(written.numbers.values()),
        structure=written_as(written, written.names[scores], SOFTMAX[softmax.target], q, k),
    )  # fmt: skip


def _down(softmax: Node) -> list[Node] | None:
    """The softmax, and all steps from it to the product of the shares, where nothing else reads them."""
    node, steps = softmax, [softmax]
    while len(readers := users(node)) == 1:
        (user,) = readers
        steps.append(user)
        if user.target in PRODUCTS:
            return steps if user.args[0] is node and user.args[1] is not node else None
        node = user
    return None


def _between(scores: Node, softmax: Node, leading: set[Node]) -> list[Node] | None:
    """The product that scores begin with, and all steps from it to the scores, where nothing else reads them."""
    found, left = set[Node](), [scores]
    while left:
        node = left.pop()
        if node in found:
            continue
        found.add(node)
        if node.target in FIRST:
            continue
        if node not in leading:
            return None
        left += leading.intersection(node.all_input_nodes)
    if sum(one.target in FIRST for one in found) != 1:
        return None
    if any(not {*users(one)} <= ({softmax} if one is scores else found) for one in found):
        return None
    return [node for node in softmax.graph.nodes if node in found]


@dataclass(frozen=True)
class _Heads:
    """Queries, keys or values. kept: the parts of batch and heads in their tensor. shares: by how many heads each is
    read. rows, depth: the other two sides."""

    base: Node
    kept: Side
    shares: Any
    rows: Side
    depth: Side

    def viewed(self, graph: GraphModule) -> Node:
        """A view as (batch, heads, rows, depth)."""

        def view(target: Any, *args: Any) -> Node:
            made: Node = graph.graph.call_function(target, args)
            with torch.no_grad():
                made.meta["val"] = target(args[0].meta["val"], *args[1:])
            return made

        pairs = [None] * (2 - len(self.kept)) + [part.place for part in self.kept]
        places = [*pairs, *(side[0].place if side else None for side in (self.rows, self.depth))]
        present = sorted(place for place in places if place is not None)
        node = self.base
        if lone := [place for place in range(node.meta["val"].dim()) if place not in present]:
            node = view(aten.squeeze.dims, node, lone)
        node = view(aten.permute.default, node, [present.index(place) for place in places if place is not None])
        for place, one in enumerate(places):
            if one is None:
                node = view(aten.unsqueeze.default, node, place)
        return node


def _heads(q: Node, k: Node, v: Node) -> Iterator[list[_Heads]]:
    """Queries, keys and values as they were made, the least copied first. q, k, v: factors of the products."""
    for queries in _origins(q, (1, 2)):
        if queries.shares == 1:
            found = [next((one for one in _origins(factor, order) if _fits(one, queries)), None)
                     for factor, order in ((k, (2, 1)), (v, (1, 2)))]  # fmt: skip
            keys, values = found
            if keys is not None and values is not None and keys.shares == values.shares:
                yield [queries, keys, values]


def _fits(one: _Heads, queries: _Heads) -> bool:
    """Whether they are of the same batch, and each head is that of `shares` neighbouring heads of the queries."""
    *batch, heads = [part.size for part in queries.kept] or [sympy.Integer(1)]
    *own_batch, own = [part.size for part in one.kept] or [sympy.Integer(1)]
    return batch == own_batch and sympy.expand(own * one.shares - heads) == 0


def _origins(factor: Node, order: tuple[int, int]) -> Iterator[_Heads]:
    """order: the places of rows and depth among the sides of the factor."""
    for origin in reversed(origins(factor)):
        pairs, rows, depth = origin.sides[0], *(origin.sides[place] for place in order)
        copied = pairs[-1:] if pairs and pairs[-1].place is None else ()
        kept = pairs[: len(pairs) - len(copied)]
        parts = [*kept, *rows, *depth]
        if len(kept) <= 2 and max(len(rows), len(depth)) <= 1 and all(part.place is not None for part in parts):
            yield _Heads(origin.base, kept, copied[0].size if copied else sympy.Integer(1), rows, depth)
