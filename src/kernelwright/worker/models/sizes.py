"""Names for the sizes of a family: a number of the constructor for each, and expressions of these for all others.

A size is the numbers that it has in the family's cases. A dimension that a reshape of the region splits is the product
of its parts, so that a flattened batch follows from its own sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from kernelwright.errors import RequestError
from kernelwright.worker.models.regions import Region, name_of, value_of

Sizes = tuple[int, ...]
"""One size in each case."""

MOST_FACTORS = 4
"""Most named sizes in a product that explains another size."""

CONSTANTS = range(2, 9)
"""Numbers by which a size is divided or multiplied to explain another one, such as the parts of a split."""


class Names:
    """names: of the sizes that the constructor gets. regions: that differ in their sizes only."""

    def __init__(self, regions: Sequence[Region]) -> None:
        self.parts = dict(_split(regions))
        self.names: dict[Sizes, str] = {}
        for place in range(len(regions[0].inputs)):
            for size in zip(*(value_of(one.inputs[place]).shape for one in regions), strict=True):
                self._name(size)

    def _name(self, size: Sizes) -> None:
        for part in self.parts.get(size, ()):
            self._name(part)
        if size not in self.parts and min(size) > 1:
            self.names.setdefault(size, f"n{len(self.names)}")

    def text(self, size: Sizes, before: str = "") -> str:
        """An expression of a size. before: what precedes each name. Raises `RequestError` where none is known and the
        cases differ in it."""
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
            before, after = ([*zip(*(side[at].shape for side in sides), strict=True)] for at in (0, 1))
            yield from _grouped(before, after)
            yield from _grouped(after, before)


def _grouped(joined: list[Sizes], split: list[Sizes]) -> Iterator[tuple[Sizes, tuple[Sizes, ...]]]:
    """Each size of `joined` that has the elements of several sizes of `split`, as far as they correspond."""
    rest = [one for one in split if max(one) > 1]
    for size in joined:
        group: list[Sizes] = []
        while rest and _product(group) != size and math.prod(_product([*group, rest[0]])) <= math.prod(size):
            group.append(rest.pop(0))
        if _product(group) != size and max(size) > 1:
            return
        if len(group) > 1:
            yield size, tuple(group)


def _product(sizes: Sequence[Sizes]) -> Sizes:
    return tuple(map(math.prod, zip(*sizes, strict=True)))
