"""How a structure becomes a call in a graph."""

from __future__ import annotations

from operator import mul

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from kernelwright.model import Structure
from kernelwright.worker.structures.found import CALL, Found


def test_a_size_that_the_graph_computes_later_is_computed_first() -> None:
    graph = Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    product = graph.call_function(torch.ops.aten.mm.default, (x, w))
    width = graph.call_function(torch.ops.aten.sym_size.int, (w, 1))
    twice = graph.call_function(mul, (width, 2))
    graph.output((product, twice))
    product.meta["val"] = torch.empty(4, 6, device="meta")
    structure = Structure(function="linear", source="", config={}, shape=(), like=0, idea="")
    Found(node=product, tensors=(x, w), numbers=(twice, 3), structure=structure).put(GraphModule({}, graph))
    graph.eliminate_dead_code()
    graph.lint()
    assert [node.target for node in graph.nodes if node.op == "call_function"] == [
        torch.ops.aten.sym_size.int, mul, CALL,
    ]  # fmt: skip


@pytest.mark.parametrize("is_side", [False, True])
def test_a_size_that_the_graph_reads_from_what_comes_later_is_an_equal_one_before(is_side: bool) -> None:
    env, graph = ShapeEnv(), Graph()
    size = env.create_unbacked_symint()
    torch._check(size >= 0)
    with FakeTensorMode(shape_env=env):
        tensor = torch.empty(4, size)
    width, x = graph.placeholder("width"), graph.placeholder("x")
    product = graph.call_function(torch.ops.aten.relu.default, (x,))
    read = graph.call_function(torch.ops.aten.sym_size.int, (product, 1))
    graph.output((product, read))
    product.meta["val"], read.meta["val"] = tensor, size
    (x if is_side else width).meta["val"] = tensor if is_side else size
    structure = Structure(function="linear", source="", config={}, shape=(), like=0, idea="")
    Found(node=product, tensors=(x,), numbers=(read,), structure=structure).put(GraphModule({}, graph))
    graph.lint()
    [number] = next(node for node in graph.nodes if node.target is CALL).args[1]
    assert number.args == (x, 1) if is_side else number is width
