"""The least work of a region or of a library call, by the same rules as that of a problem's forward."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Interpreter, Node
from torch.utils._pytree import tree_leaves, tree_map_only

from kernelwright.model import LeastWork
from kernelwright.worker.bounds.flop import flop_of
from kernelwright.worker.bounds.tape import Tape
from kernelwright.worker.bounds.work import Taped, least_work
from kernelwright.worker.models.regions import (
    Region,
    arguments_of,
    called,
    is_in_place,
    library_kind,
    name_of,
    value_of,
)
from kernelwright.worker.reference.unmade import faked

MOST_EVALUATED = 1 << 26
"""Elements of the largest tensor whose values are computed, to read a mask."""

BACKWARD_PRODUCTS = 5
"""Products of the size of the scores in the backward of attention; the forward has two (Dao et al., "FlashAttention",
NeurIPS 2022, algorithm 4)."""

MASKED_BELOW = -1e4
"""A value added to a score from which the score's share is 0 in every dtype of half precision."""


def work_of(region: Region, values: Mapping[Node, Tensor]) -> LeastWork:
    """The work of a region, or of a library call as a region of one node: its inputs are read and its outputs written
    once. values: of the graph's placeholders, where they are known."""
    node = region.outputs[0]
    moved, written = sum(map(bytes_of, region.inputs)), sum(map(bytes_of, region.outputs))
    plain = LeastWork(bytes=moved + written, written_bytes=written, remark="its bytes alone are counted")
    if not all(isinstance(one.target, OpOverload) or one.target is operator.getitem for one in region.nodes):
        return plain  # an operator that contains a graph
    if not all(isinstance(value_of(one), Tensor) for one in region.inputs):
        return plain
    if len(region.nodes) == 1 and is_in_place(node):
        moved -= bytes_of(node.all_input_nodes[0])
        return LeastWork(bytes=2 * moved, written_bytes=moved, remark="writes a part of an input in place")
    if len(region.nodes) == 1 and library_kind(node) == "attention":
        return _attention(region, values)
    module, tape = alone(region), Tape()
    with faked():
        tensors = [
            torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device=v.device)
            for v in map(value_of, region.inputs)
        ]
        views = [(f"x{place}", tape.view(one)) for place, one in enumerate(tensors)]
        with torch.no_grad(), tape:
            made = Interpreter(module).run(*tensors)
        results = [tape.view(one) for one in tree_leaves(made) if isinstance(one, Tensor)]
    found, remarks = least_work(Taped(tape=tape, tensors=views, results=results, mutates={})), list[str]()
    flop = dict(found.flop)
    for one in region.nodes:
        if library_kind(one) == "attention":  # the tape knows no values of masks
            masked = _attention(called(one), values)
            for dtype, kept in masked.flop.items():
                flop[dtype] += kept - flop_of(one.target, value_of(one.args), value_of(one.kwargs), None)
            remarks.append(masked.remark)
    return LeastWork(
        bytes=found.bytes, written_bytes=found.written_bytes, flop=flop, kinds=found.kinds, remark="; ".join(remarks)
    )


def bytes_of(node: Node) -> int:
    """Bytes in memory of a node's tensors; an expanded dimension counts once."""
    tensors = [one for one in tree_leaves(value_of(node)) if isinstance(one, Tensor)]
    shapes = [[n for n, stride in zip(one.shape, one.stride(), strict=True) if stride] for one in tensors]
    return sum(math.prod(shape) * one.element_size() for shape, one in zip(shapes, tensors, strict=True))


def alone(region: Region) -> GraphModule:
    """A module that computes a region, with casts as PyTorch's own operator."""
    graph, made = Graph(), dict[Any, Node]()
    for place, node in enumerate(region.inputs):
        made[node] = graph.placeholder(f"x{place}")
    for node in region.nodes:
        if node.target is torch.ops.prims.convert_element_type.default:
            cast = torch.ops.aten._to_copy.default
            made[node] = graph.call_function(cast, (made[node.args[0]],), {"dtype": node.args[1]})
        else:
            made[node] = graph.node_copy(node, made.__getitem__)
    graph.output([made[node] for node in region.outputs])
    return GraphModule({}, graph)


def _attention(region: Region, values: Mapping[Node, Tensor]) -> LeastWork:
    """Queries, keys and values are read once, and the products count for the pairs that no mask leaves out."""
    node = region.outputs[0]
    arguments = arguments_of(node)
    query, key, value = (value_of(arguments[name]) for name in ("query", "key", "value"))
    queries, keys = query.shape[-2], key.shape[-2]
    pairs, remark, mask = queries * keys, "", arguments.get("attn_mask", arguments.get("attn_bias"))
    if arguments.get("is_causal"):
        pairs = sum(min(row + 1, keys) for row in range(queries))
    elif isinstance(mask, Node):
        kept = kept_by(evaluated(mask, values))
        pairs, remark = round(pairs * (1.0 if kept is None else float(kept.float().mean()))), mask_text(kept)
    is_backward = name_of(node).endswith("backward")
    flop = 2 * math.prod(query.shape[:-2]) * pairs * (query.shape[-1] + value.shape[-1])
    made = [one for one in tree_leaves(value_of(node)) if isinstance(one, Tensor)][: 3 if is_backward else 1]
    written = sum(one.numel() * one.element_size() for one in made)
    return LeastWork(
        bytes=sum(bytes_of(one) for one in region.inputs if one is not mask) + written, written_bytes=written,
        flop={str(query.dtype)[6:]: flop * BACKWARD_PRODUCTS // 2 if is_backward else flop}, remark=remark,
    )  # fmt: skip


def kept_by(mask: Tensor | None) -> Tensor | None:
    """Which scores a mask keeps, as booleans; None for a mask whose values are not known."""
    return mask if mask is None or mask.dtype is torch.bool else mask > MASKED_BELOW


def mask_text(kept: Tensor | None) -> str:
    """What a materialised mask is."""
    if kept is None:
        return "the mask's values are not known here, so all scores count"
    left_out = f"{1 - float(kept.float().mean()):.0%} of the scores"
    if bool(kept.all()):
        return "the mask keeps every score: leave it out"
    if bool((kept == torch.ones(kept.shape[-2:], dtype=torch.bool).tril(kept.shape[-1] - kept.shape[-2])).all()):
        return f"the mask is causal, and materialised: with is_causal=True {left_out} need no product"
    if bool((kept == (torch.arange(kept.shape[-1]) < kept.sum(-1, keepdim=True))).all()):
        return f"the mask is padding, and materialised: {left_out} need no product"
    return f"the mask leaves out {left_out}"


def evaluated(node: Node, values: Mapping[Node, Tensor]) -> Tensor | None:
    """The values of a node that depends on known values only; None for others, and for large ones."""
    needed, todo = set[Node](), [node]
    while todo:
        one = todo.pop()
        is_known = isinstance(one.target, OpOverload) if one.op == "call_function" else one in values
        large = [
            leaf for leaf in tree_leaves(value_of(one)) if isinstance(leaf, Tensor) and leaf.numel() > MOST_EVALUATED
        ]
        if not is_known or large:
            return None
        todo += [] if one in needed else one.all_input_nodes
        needed.add(one)
    made = dict[Any, Any]()
    for one in node.graph.nodes:
        if one in needed:
            target: Any = one.target
            given = torch.fx.map_arg((one.args, one.kwargs), made.__getitem__)
            args, kwargs = tree_map_only(torch.device, lambda _: torch.device("cpu"), given)
            made[one] = values[one] if one.op != "call_function" else target(*args, **kwargs)
    return made[node] if isinstance(made[node], Tensor) else None
