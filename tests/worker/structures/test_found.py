"""How a structure becomes a call in a graph."""

from __future__ import annotations

from operator import mul

import torch
from torch.fx import Graph, GraphModule

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
