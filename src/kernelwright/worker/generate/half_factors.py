"""Products of half-precision tensors that a graph converts to float32 first.

A product of two numbers of half precision is exact in float32, and tensor cores add such products up in float32. So
`x.float() @ y.float()` keeps its factors as they are and has a float32 result: the same sum, at the speed of half
precision. Numbers by which a factor is multiplied on the way are multiplied with the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import SymFloat, SymInt, Tensor
from torch._guards import detect_fake_mode
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from kernelwright.worker.reference.instance import HALF

aten = torch.ops.aten

WITH_DTYPE: dict[Any, Any] = {one.default: one.dtype for one in (aten.mm, aten.bmm) if "dtype" in one.overloads()}
"""Products of two factors, and the same products whose result has a dtype of its own."""

COPIES = (aten.clone.default, aten._unsafe_view.default)
"""Operators beside views that change no value."""

SCALES = (aten.mul.Tensor, aten.mul.Scalar, aten.div.Tensor, aten.div.Scalar)


def with_half_factors(graph: GraphModule) -> GraphModule:
    """The graph, changed in place, with products of half-precision factors where both were converted to float32."""
    for node in list(graph.graph.nodes):
        if node.target not in WITH_DTYPE or node.meta["val"].dtype != torch.float32:
            continue
        found = [_steps(one) for one in node.args]
        if any(one is None for one in found) or len({_start(one).meta["val"].dtype for one in found if one}) != 1:
            continue
        with graph.graph.inserting_before(node):
            add = _adding(graph)
            factors, scales = [], list[Node]()
            for steps in found:
                assert steps is not None
                made = _start(steps)
                for step in reversed(steps[:-1]):
                    if step.target in SCALES:
                        scales.append(step)
                    else:
                        made = add(step.target, (made, *step.args[1:]), step.kwargs)
                factors.append(made)
            made = add(WITH_DTYPE[node.target], (*factors, torch.float32), {})
            for scale in scales:
                made = add(scale.target, (made, *scale.args[1:]), scale.kwargs)
        node.replace_all_uses_with(made)
        graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    return graph


def _steps(node: Any) -> list[Node] | None:
    """The operators from a factor back to the conversion of a half-precision tensor, which is the last. None where
    others are between them."""
    steps = list[Node]()
    while isinstance(node, Node) and isinstance(node.target, OpOverload):
        steps.append(node)
        source = node.args[0] if node.args else None
        if not isinstance(source, Node) or not isinstance(value := source.meta.get("val"), Tensor):
            return None
        if value.dtype in HALF:
            converts = node.target in (aten._to_copy.default, torch.ops.prims.convert_element_type.default)
            return steps if converts else None
        if not (_is_scale(node) or node.target.is_view or node.target in COPIES) or value.dtype != torch.float32:
            return None
        node = source
    return None


def _is_scale(node: Node) -> bool:
    if node.target not in SCALES or len(node.args) < 2:
        return False
    by = node.args[1]
    return isinstance(by.meta.get("val") if isinstance(by, Node) else by, int | float | SymInt | SymFloat)


def _start(steps: list[Node]) -> Node:
    """The half-precision tensor where they begin."""
    start = steps[-1].args[0]
    assert isinstance(start, Node)
    return start


def _adding(graph: GraphModule) -> Callable[..., Node]:
    """A function that adds a call to the graph, with the fake tensor it makes."""

    def add(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        made = graph.graph.call_function(target, args, kwargs)
        values = torch.fx.map_arg(args, lambda one: one.meta["val"])
        mode = detect_fake_mode([one for one in values if isinstance(one, Tensor)])
        assert mode is not None
        with mode, torch.no_grad():
            made.meta["val"] = target(*values, **torch.fx.map_arg(kwargs, lambda one: one.meta["val"]))
        return made

    return add
