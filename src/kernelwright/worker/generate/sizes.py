"""Sizes near those of a case, at which Inductor generates kernels of the same structure.

Inductor writes sizes as numbers. A comparison of the texts at several sizes shows which numbers are sizes, and which
dimension they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.model import Case
from kernelwright.worker.reference.derive import Search

NEIGHBOURS = 7
"""The number of sizes besides the case itself: four with any sizes, three whose sizes have the same divisors. Three
suffice to tell products of sizes from other numbers. Inductor generates different code if a size is odd, or a multiple
of 32."""


STEPS = (1, 6, 11, 20)
"""Distances below the case's own number. Together with it they have all remainders by 2, 3 and 4, which distinguish
windows of neighbouring sizes."""

PERIOD = 12
"""A distance that changes no remainder by 2, 3 or 4."""

SIXTEENTHS = (15, 14, 12, 10, 8)
"""Fractions of the case's own number that keep its divisors, by their numerators."""


def near(value: int, number: int, place: int) -> list[int]:
    """Values for neighbour `number` in place of the file's number `value`, the best first.

    Candidates are a value at a distance from STEPS and the values just below it, and fractions of `value`, which keep
    its divisors. The first `len(STEPS)` neighbours prefer the former, the others the latter. place: the index of the
    number in the file. It varies the values, so that no two numbers keep the same distance or ratio over all
    neighbours, and two equal ones differ at some.
    """
    lowest = max(3, value // 2 + 1)
    distance = STEPS[(number + place // len(SIXTEENTHS)) % len(STEPS)] + PERIOD * (place * (number**2 + number + 1) % 7)
    span = value - lowest
    first = value - 1 - (distance - 1) % (max(1, span) if span < PERIOD else span // PERIOD * PERIOD)
    parts = [value * part // 16 for part in SIXTEENTHS]
    free = [first, *range(first - 1, max(lowest, first - 5), -1)]
    alike = [*parts[(turn := (number + place) % len(parts)) :], *parts[:turn]]
    wanted = [*free, *alike] if number < len(STEPS) else [*alike, *free]
    return [one for one in dict.fromkeys(wanted) if 2 < one < value]


FEW_PARTS = 64
"""Up to this number of parts, a reduction has the same number at all sizes: Triton's interpreter runs as many programs
in less than a second (10 ms each for the sum of KernelBench's level 1, 98)."""


def parts_of(length: int, chosen: int, number: int) -> int:
    """The number of parts of a reduction at neighbour `number`, counted from 1.

    length: of the reduction there. chosen: Inductor's number of parts for the case itself. The neighbours have other
    numbers of parts, so that the comparison shows which numbers follow from it. They have the same next power of two,
    as Inductor writes other kernels for short reductions, and divide the length only where `chosen` does, as Inductor
    then omits masks. Where no other number does, it is `chosen`.
    """
    if chosen <= FEW_PARTS:
        return chosen
    below = 1 << (chosen - 1).bit_length() - 1
    if length % chosen == 0:
        even = [one for one in range(below + 1, 2 * below + 1) if length % one == 0]
        return even[number % len(even)]
    first = below + 1 + (chosen - below) * number // (NEIGHBOURS + 1)
    return next(one for one in range(first, 2 * below) if length % one)


def neighbours(search: Search) -> Iterator[Case]:
    """Cases of distinct sizes near the base case; fewer than NEIGHBOURS if the problem does not allow more."""
    seen: list[dict[str, int]] = [{}]
    for number in range(NEIGHBOURS):
        wanted = {name: near(value, number, place) for place, (name, value) in enumerate(search.free({}))}
        sizes = search.changed({}, wanted)
        if sizes not in seen:
            seen.append(sizes)
            yield Case(name=f"near_{number}", params={**search.base.params, **sizes}, dtype=search.base.dtype)
