"""Structures: parts of a graph for which there is an algorithm that Inductor does not find, and the kernels for it.

A structure matches operators after decomposition, on any part of a graph. What it finds becomes one call in the graph,
so Inductor generates the rest around it, and the structure's functions become part of the candidate. A structure is a
file with a function that yields what it finds, and a line in `STRUCTURES`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from torch.fx import GraphModule

from kernelwright.worker.structures.attention import find_attention
from kernelwright.worker.structures.found import Found
from kernelwright.worker.structures.linear import find_linear
from kernelwright.worker.structures.product import find_product

STRUCTURES: Mapping[str, Callable[[GraphModule], Iterator[Found]]] = {
    "attention": find_attention, "linear": find_linear, "product": find_product,
}  # fmt: skip
"""By name, which is also that of its host function."""

_used: ContextVar[bool] = ContextVar("_used", default=False)


@contextmanager
def with_structures() -> Iterator[None]:
    """Inside, structures compute what they match."""
    token = _used.set(True)
    try:
        yield
    finally:
        _used.reset(token)


def matched(graph: GraphModule) -> list[str]:
    """The structures that match a graph, each as often as it does where those before compute theirs. Inside of
    `with_structures` the graph is changed in place."""
    graph = graph if _used.get() else GraphModule(graph, copy.deepcopy(graph.graph))
    names = []
    for name, matches in STRUCTURES.items():
        for found in matches(graph):
            names.append(name)
            found.put(graph)
        graph.graph.eliminate_dead_code()
    return names
