"""A walk over what a node of a graph depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def behind_its_sources(last: Any, sources: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """`last` and every node that it depends on, each after the nodes that it depends on itself."""
    seen, stack = set(), [(last, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            yield node
        elif node not in seen:
            seen.add(node)
            stack += [(node, True), *((one, False) for one in sources(node))]
