"""Sizes near those of a case, at which Inductor generates kernels of the same structure.

It writes sizes as numbers. From the texts at several sizes follows where a number is a size, and of what.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.model import Case
from kernelwright.worker.reference.derive import Search

NEIGHBOURS = 7
"""Beside the case itself: four of any sizes, and three of the same divisors. Three tell products of sizes from other
numbers; Inductor writes other code where a size is odd, or a multiple of 32."""


STEPS = (1, 6, 11, 20)
"""Below the case's own number: with it, all remainders by 2, 3 and 4, which tell one window from the next."""

PERIOD = 12
"""A distance that changes none of these remainders."""


def near(value: int, number: int, place: int) -> list[int]:
    """Values for neighbour `number` in place of the file's number `value`, the best first: some steps below it and
    those next to that, then parts of it, which keep its divisors; after the steps are used up, the parts come first.

    place: which of the file's numbers it is. No two of them keep a distance or a ratio over the neighbours.
    """
    lowest = max(3, value // 2 + 1)
    distance = STEPS[number % len(STEPS)] + PERIOD * (place * (number**2 + number + 1) % 7)
    span = value - lowest
    first = value - 1 - (distance - 1) % (max(1, span) if span < PERIOD else span // PERIOD * PERIOD)
    parts = [value * part // 16 for part in (15, 14, 12, 10, 8)]
    free = [first, *range(first - 1, max(lowest, first - 5), -1)]
    alike = [*parts[(turn := (number + place) % len(parts)) :], *parts[:turn]]
    wanted = [*free, *alike] if number < len(STEPS) else [*alike, *free]
    return [one for one in dict.fromkeys(wanted) if 2 < one < value]


def neighbours(search: Search) -> Iterator[Case]:
    """Cases of distinct sizes; fewer than `NEIGHBOURS` where the file has no more."""
    seen: list[dict[str, int]] = [{}]
    for number in range(NEIGHBOURS):
        wanted = {name: near(value, number, place) for place, (name, value) in enumerate(search.free({}))}
        sizes = search.changed({}, wanted)
        if sizes not in seen:
            seen.append(sizes)
            yield Case(name=f"near_{number}", params={**search.base.params, **sizes}, dtype=search.base.dtype)
