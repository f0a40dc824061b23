"""Names for the sizes of a family: a number of the constructor for each, and expressions of these for all others.

A size is the numbers that it has in the family's cases. A dimension that a reshape of the region splits is the product
of its parts, so that a flattened batch follows from its own sizes. A dimension of concatenated inputs is their sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from torch.fx import Node

from kernelwright.errors import RequestError
from kernelwright.worker.models.regions import Region, name_of, value_of

Sizes = tuple[int, ...]
"""One size in each case."""

MOST_FACTORS = 4
"""Most named sizes in a product that explains another size."""

CONSTANTS = range(2, 9)
"""Numbers by which a size is divided or multiplied to explain another one, such as the parts of a split."""


class Names:
    """names: of the sizes that the constructor gets. last: of the parts of a sum, the one that follows from it, and the
    sum. regions: that differ in their sizes only."""

    def __init__(self, regions: Sequence[Region]) -> None:
        given = [size for several in zip(*(one.inputs for one in regions), strict=True) for size in _shape(several)]
        every = zip(*(one.nodes for one in regions), strict=True)
        counted = [size for several in every if not several[0].all_input_nodes for size in _shape(several)]
        self.parts, self.sums = dict(_split(regions)), dict(_summed(regions, {*given}))
        self.last: dict[Sizes, Sizes] = {}
        for size in self.sums:
            *_, last = self.parts.get(size, (size,))
            if last not in (size, *(part for one in self.sums[size] for part in (one, *self.parts.get(one, ())))):
                self.last[last] = size
        self.names: dict[Sizes, str] = {}
        for size in (*given, *counted):  # a mask may have sizes of its own
            self._name(size)

    def _name(self, size: Sizes) -> None:
        for part in self.parts.get(size, ()):
            self._name(part)
        if not (size in self.parts or size in self.last or min(size) == 1):
            self.names.setdefault(size, f"n{len(self.names)}")

    def text(self, size: Sizes, before: str = "") -> str:
        """An expression of a size. before: what precedes each name. Raises `RequestError` where none is known and the
        cases differ in it."""
        if size in self.sums:
            return f"({' + '.join(self.text(part, before) for part in self.sums[size])})"
        if (whole := self.last.get(size)) is not None:
            others = " * ".join(self.text(part, before) for part in self.parts[whole][:-1])
            return f"({self.text(whole, before)} // ({others}))"
        if size in self.parts:
            return " * ".join(self.text(part, before) for part in self.parts[size])
        if (found := next(self._explained(size, before), None)) is None and len({*size}) > 1:
            raise RequestError(f"nothing explains the sizes {', '.join(map(str, size))}")
        return found or str(size[0])

    def _explained(self, size: Sizes, before: str) -> Iterator[str]:
        if size in self.names:
            yield before + self.names[size]
        for number, (known, name) in itertools.product(CONSTANTS if min(size) > 1 else (), self.names.items()):
            if size == tuple(one * number for one in known):
                yield f"{before}{name} * {number}"
            if known == tuple(one * number for one in size):
                yield f"{before}{name} // {number}"
        for count in range(2, MOST_FACTORS + 1):
            for chosen in itertools.combinations(self.names, count):
                if tuple(map(math.prod, zip(*chosen, strict=True))) == size:
                    yield " * ".join(before + self.names[one] for one in chosen)


def _split(regions: Sequence[Region]) -> Iterator[tuple[Sizes, tuple[Sizes, ...]]]:
    """Each size that a reshape splits, or joins, with its parts."""
    for place, node in enumerate(regions[0].nodes):
        if name_of(node) in ("view", "reshape", "_unsafe_view"):
            sides = [value_of([one.nodes[place].args[0], one.nodes[place]]) for one in regions]
            yield from _aligned(*([*zip(*(side[at].shape for side in sides), strict=True)] for at in (0, 1)))


def _aligned(before: list[Sizes], after: list[Sizes]) -> Iterator[tuple[Sizes, tuple[Sizes, ...]]]:
    """Each size of one side that has the elements of several sizes of the other."""
    left, right = ([size for size in side if max(size) > 1] for side in (before, after))
    while left and right:
        one, other = [left.pop(0)], [right.pop(0)]
        while _product(one) != _product(other):
            is_less = math.prod(_product(one)) < math.prod(_product(other))
            rest, fewer = (left, one) if is_less else (right, other)
            if not rest:
                return
            fewer.append(rest.pop(0))
        for joined, parts in ((one, other), (other, one)):
            if len(joined) == 1 < len(parts):
                yield joined[0], tuple(parts)


def _summed(regions: Sequence[Region], given: set[Sizes]) -> Iterator[tuple[Sizes, list[Sizes]]]:
    """Each size that is a sum of sizes of inputs that are concatenated, and none itself. given: sizes of inputs."""
    for place, node in enumerate(regions[0].nodes):
        if name_of(node) == "cat":
            every = [[*value_of(one.nodes[place].args[0]), value_of(one.nodes[place])] for one in regions]
            dim: Any = node.args[1] if len(node.args) > 1 else 0
            *parts, total = zip(*([one.shape[dim] for one in values] for values in every), strict=True)
            if given.issuperset(parts) and total not in given:
                yield total, parts


def _shape(nodes: Sequence[Node]) -> list[Sizes]:
    return [*zip(*(value_of(node).shape for node in nodes), strict=True)]


def _product(sizes: Sequence[Sizes]) -> Sizes:
    return tuple(map(math.prod, zip(*sizes, strict=True)))
