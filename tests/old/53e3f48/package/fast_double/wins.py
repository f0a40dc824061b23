"""Where the kernel was measured to win: `wins.json`, and the rule for shapes that were not measured.

No torch here. The rule: a shape that was measured goes by its own figures. Any other counts as a win only between two
measured ones, a (smaller or equal in every dimension) and b (larger or equal), where the kernel at b takes less time
than PyTorch at a: then, as long as neither gets faster when a dimension grows, the kernel wins everywhere between.
Where a dimension of a or b is a multiple of 16, it has to be one too (odd sizes lose wide loads), and nothing that was
measured between a and b may have been a loss or have failed. Whatever lies outside is PyTorch's. Which figures have to
win depends on the use: calls, or CUDA graphs that are replayed.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

MARGINS = {"call_us": 0.10, "stream_us": 0.03, "device_us": 0.03}
"""The kernel has to be faster by these fractions, so that noise is no win; an awaited call varies most."""

SLOWER_HOST = 2.0
"""The kernel has to win, too, where the host takes this many times as long to issue a call. On one machine with an H200
the same call took 24 us of the host in one process and 44 in another, and PyTorch's own 8 and 12."""

USES = {"calls": ("call_us", "stream_us", "device_us"), "graphs": ("device_us",)}
"""Which figures have to win. A program that replays CUDA graphs pays for launches once, at the capture: there device
time alone counts. The first has to have been measured, the others count where they were."""

WHY = {"calls": "why", "graphs": "why_in_graphs"}
"""Under which name a case says of each use why it is won or lost."""

REGIMES = {"eager": ("kernel", "eager"), "compiled": ("kernel_compiled", "compile")}
"""What is compared with what: called plainly, and in a graph of torch.compile."""

WIDE = 16
"""Triton compiles a kernel for multiples of 16 apart: loads may then be wide."""

FILE = Path(__file__).with_name("wins.json")


class Wins:
    """The measured cases of one file. device: the GPU they hold on, None where nothing was measured."""

    def __init__(self, document):
        self.document = document
        self.device = document["device"]
        self.cases = document["cases"]

    def matching(self, init, parameters):
        """The cases of a module that was constructed with `init` and has `parameters`: [name, shape] of each."""
        return [case for case in self.cases if case["init"] == init and shapes_of(case) == parameters]


def read(file=FILE):
    return Wins(json.loads(Path(file).read_text(encoding="utf-8")))


def verdict(cases, kinds, sizes, regime, use):
    """Whether the kernel wins, and why or why not, in words.

    kinds: what has to be equal (dtypes, numbers of dimensions, plain arguments). sizes: all dimensions in a row. use:
    one of `USES`.
    """
    alike = [(sizes_of(case), case) for case in cases if kinds_of(case) == kinds and speaks_of(case, regime)]
    for place, case in alike:
        if place == sizes:
            return won(case, case, regime, use), f"case {case['case']}: {reason(case, regime, use)}"
    winners = [(place, case) for place, case in alike if won(case, case, regime, use)]
    losers = [place for place, case in alike if not won(case, case, regime, use)]
    for low, smaller in winners:
        for high, larger in winners:
            if (
                between(low, sizes, high)
                and wide_where(low, sizes, high)
                and won(larger, smaller, regime, use)
                and not any(between(low, place, high) for place in losers)
            ):
                return True, f"between the cases {smaller['case']} and {larger['case']}"
    return False, "not measured, and not between two cases that say so" if alike else "nothing alike was measured"


def speaks_of(case, regime):
    """Whether the case says anything of the regime: one that was measured without torch.compile does not of that; one
    whose kernel failed has no figures at all, and is a loss in both."""
    return "kernel" not in case or all(name in case for name in REGIMES[regime])


def least_elements(cases, use):
    """Below so many elements of the first tensor the kernel, called plainly, wins nowhere: a size wins only where it is
    as large in every dimension as one that was measured to win."""
    won_by = [case for case in cases if won(case, case, "eager", use)]
    firsts = [next(one["shape"] for one in case["inputs"] if isinstance(one, dict)) for case in won_by]
    return min(map(math.prod, firsts), default=sys.maxsize)


def won(ours, theirs, regime, use):
    """Whether the kernel's figures of one case beat PyTorch's of another, in all that counts."""
    return shortfall(ours, theirs, regime, use) == []


def shortfall(ours, theirs, regime, use):
    """The figures in which the kernel is not faster by its margin, as measured and on a slower host, in words; None
    where they were not measured."""
    pairs = figures(ours, regime, use), figures(theirs, regime, use)
    if None in pairs:
        return None
    (mine, _), (_, other) = pairs
    found = behind(mine, other, use)
    if not found and "issue_us" in mine and "issue_us" in other:
        found = [f"{name} on a slower host" for name in behind(slowed(mine), slowed(other), use)]
    return found


def behind(mine, other, use):
    return [name for name in USES[use] if name in mine and mine[name] > (1 - MARGINS[name]) * other.get(name, 0.0)]


def slowed(found):
    """The figures where issuing a call takes `SLOWER_HOST` times as long. What wins at both ends wins between them."""
    issue_us = found["issue_us"]
    call_us = found["call_us"] + (SLOWER_HOST - 1) * issue_us
    return {**found, "call_us": call_us, "stream_us": max(found["stream_us"], SLOWER_HOST * issue_us)}


def reason(case, regime, use):
    """What `wins.json` says of a measured case."""
    found = shortfall(case, case, regime, use)
    if found is None:
        return "not measured"
    return f"not faster by enough in {', '.join(found)}" if found else "faster"


def figures(case, regime, use):
    """(the kernel's, PyTorch's), each by name in microseconds; None where the one that has to be there is not."""
    pair = [case.get(name, {}) for name in REGIMES[regime]]
    return pair if all(USES[use][0] in one for one in pair) else None


def between(low, sizes, high):
    return all(a <= size <= b for a, size, b in zip(low, sizes, high, strict=True))


def wide_where(low, sizes, high):
    """Whether every dimension that is a multiple of `WIDE` at either end is one here."""
    return all(
        size % WIDE == 0 or (a % WIDE != 0 and b % WIDE != 0) for a, size, b in zip(low, sizes, high, strict=True)
    )


def shapes_of(case):
    """Name and shape of each parameter."""
    return [[name, spec["shape"]] for name, spec in case["parameters"].items()]


def kinds_of(case):
    return tuple((one["dtype"], len(one["shape"])) if isinstance(one, dict) else one for one in case["inputs"])


def sizes_of(case):
    return tuple(size for one in case["inputs"] if isinstance(one, dict) for size in one["shape"])
