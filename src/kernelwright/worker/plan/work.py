"""What a recorded launch can store, and how often its loops run, from the skeleton of its kernel; nothing runs.

Whole numbers are intervals. Programs are evaluated one by one where that is affordable, otherwise all at once. Where a
number depends on memory, there is no limit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelwright.worker.compile.skeleton import Line, Skeleton
from kernelwright.worker.plan.plan import Launch, TritonLaunch, Value, leaves

Interval = tuple[int, int] | None
"""The lowest and the highest value that is possible; None if it is not known."""

MOST_STEPS = 10_000
"""Most lines that are evaluated for one launch; about 20 ms."""


@dataclass
class Work:
    """stored: bytes that are stored at most, by the parameter whose memory it is ("" where that is not known); infinite
    where there is no limit. trips: by the source line of a loop, the most iterations in a program: at least and at
    most. operations: about how many run; a loop without a limit counts once."""

    stored: dict[str, float] = field(default_factory=dict)
    operations: float = 0.0
    trips: dict[str, tuple[float, float]] = field(default_factory=dict)


WorkOf = Callable[[Launch], Work | None]
"""The work of a launch; None if it is not known."""


def work_of(skeleton: Skeleton, launch: TritonLaunch) -> Work:
    """The work of one launch. skeleton: of its kernel, not ()."""
    sizes = dict(zip("xyz", (*launch.grid, 1, 1), strict=False))
    axes = [axis for axis in sizes if any(line.kind == "program" and line.text == axis for line in skeleton)]
    programs = math.prod(sizes.values())
    found, one_by_one = Work(), math.prod(sizes[axis] for axis in axes)
    if one_by_one * len(skeleton) <= MOST_STEPS:
        every = [[(at, at) for at in range(sizes[axis])] for axis in axes]
    else:
        every, one_by_one = [[(0, sizes[axis] - 1)] for axis in axes], 1
    numbers = {name: int(one.text) for name, one in leaves(launch.arguments).items()
               if isinstance(one, Value) and one.kind == "int"}  # fmt: skip
    for place in itertools.product(*every):
        _run(skeleton, numbers, sizes, dict(zip(axes, place, strict=True)), programs // max(one_by_one, 1), found)
    return found


def _run(
    skeleton: Skeleton, numbers: dict[str, int], sizes: dict[str, int], place: dict[str, tuple[int, int]], count: int,
    found: Work,
) -> None:  # fmt: skip
    """Add the work of `count` equal programs to `found`. place: of the program, by axis of the grid."""
    values: list[Interval] = []
    times: list[float] = []  # by line, how often it runs at most in a program; of a loop its body
    for at, line in enumerate(skeleton):
        given = [values[one] if 0 <= one < at else None for one in line.operands]
        value: Interval = None
        often = times[line.inside] if 0 <= line.inside < at else 1.0
        match line.kind:
            case "argument":
                value = (numbers[line.text], numbers[line.text]) if line.text in numbers else None
            case "constant":
                value = line.number, line.number
            case "program":
                value = place.get(line.text)
            case "programs":
                value = (sizes[line.text], sizes[line.text]) if line.text in sizes else None
            case "while":
                often = math.inf
            case "for":
                least, most, value = _trips(given) if often else (0, 0, None)
                before = found.trips.get(line.text, (0, 0))
                found.trips[line.text] = max(before[0], least), max(before[1], most)
                often = often * float(most) if most else 0.0
            case "operations":
                found.operations += max(line.number, 0) * count * (often if math.isfinite(often) else 1.0)
            case "store":
                found.stored[line.text] = found.stored.get(line.text, 0) + (line.number * often * count if often else 0)
            case _:
                value = _computed(line, given)
        values.append(value)
        times.append(often)


def _trips(bounds: Sequence[Interval]) -> tuple[float, float, Interval]:
    """The iterations of a loop, at least and at most, and its index. bounds: start, end, step."""
    known = [one for one in bounds if one is not None]
    if len(known) != 3 or known[2][0] < 1:
        return 0, math.inf, None
    (first, last_first), (least_end, end), (step, longest) = known
    most = max(0, -((first - end) // step))
    return max(0, -((last_first - least_end) // longest)), most, (first, max(end - 1, first))


def _computed(line: Line, given: list[Interval]) -> Interval:
    """The result of an operation of `skeleton.WHOLE`; None if it does not fit into its bits."""
    if line.kind == "select":
        given = given[1:]
    known = [one for one in given if one is not None]
    if not known or len(known) < len(given):
        return None
    (low, high), (other_low, other_high) = known[0], known[-1]
    match line.kind:
        case "addi":
            found = low + other_low, high + other_high
        case "subi":
            found = low - other_high, high - other_low
        case "muli":
            products = [one * other for one in known[0] for other in known[-1]]
            found = min(products), max(products)
        case "minsi":
            found = min(low, other_low), min(high, other_high)
        case "maxsi":
            found = max(low, other_low), max(high, other_high)
        case "divsi" if other_low > 0:  # towards 0
            quotients = [abs(one) // other * (1 if one > 0 else -1) for one in known[0] for other in known[-1]]
            found = min(quotients), max(quotients)
        case "remsi" if low >= 0 and other_low > 0:
            is_one = other_low == other_high and low // other_low == high // other_low
            found = (low % other_low, high % other_low) if is_one else (0, min(high, other_high - 1))
        case "select":
            found = min(low, other_low), max(high, other_high)
        case "extsi" | "index_cast" | "trunci":
            found = low, high
        case "extui" if low >= 0:
            found = low, high
        case _:
            return None
    most = 1 << max(line.number, 1) - 1
    return found if -most <= found[0] and found[1] < most and line.number <= 64 else None
