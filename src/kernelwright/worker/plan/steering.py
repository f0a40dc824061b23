"""What steers the kernels of a plan, and which of it was at most 1 in other plans.

Launches, axes of grids, whole numbers and flags among the arguments, and iterations of loops: where there is one split,
a wrong join of splits is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from kernelwright.model import NEVER_EXERCISED
from kernelwright.worker.plan.plan import Launch, Plan, Value, leaves
from kernelwright.worker.plan.work import WorkOf

Key = tuple[str, str]
"""A kernel and what steers it."""

LAUNCHES, AXES = "launches", tuple(f"axis {axis} of the grid" for axis in "xyz")


def steering(plan: Plan, work_of: WorkOf) -> dict[Key, tuple[float, float]]:
    """What steers the kernels of a plan, with the largest number of it in a call: at least and at most. A loop of one
    iteration counts as none, because the compiler removes it."""
    counts = Counter(launch.kernel for launch in plan.launches)
    found: dict[Key, tuple[float, float]] = {(kernel, LAUNCHES): (count, count) for kernel, count in counts.items()}
    for launch in plan.launches:
        work = work_of(launch)
        every = {} if work is None else {f"`{line}`": (least * (least > 1), most if most > 1 else 0)
                                         for line, (least, most) in work.trips.items()}  # fmt: skip
        every |= {axis: (size, size) for axis, size in zip(AXES, launch.grid, strict=False)}
        every |= {name: (number, number) for name, number in numbers(launch).items()}
        for what, (least, most) in every.items():
            before = found.get((launch.kernel, what), (0, 0))
            found[launch.kernel, what] = max(before[0], least), max(before[1], most)
    return found


def numbers(launch: Launch) -> dict[str, int]:
    """The whole numbers and flags among the arguments of a launch."""
    return {name: int(one.text == "True" if one.kind == "bool" else one.text)
            for name, one in leaves(launch.arguments).items()
            if isinstance(one, Value) and one.kind in ("int", "bool")}  # fmt: skip


def pairs(plan: Plan) -> Iterator[tuple[tuple[str, str, str], bool]]:
    """Two numbers among the arguments of a kernel, and whether they are equal in a launch."""
    for launch in plan.launches:
        for (one, number), (other, second) in combinations(sorted(numbers(launch).items()), 2):
            yield (launch.kernel, one, other), number == second


@dataclass
class Exercised:
    """most: the largest number of what steered kernels in the plans that were added. equal: for two numbers, whether
    they were equal in every launch."""

    work_of: WorkOf
    most: dict[Key, float] = field(default_factory=dict)
    equal: dict[tuple[str, str, str], bool] = field(default_factory=dict)

    def add(self, plan: Plan, work_of: WorkOf | None = None) -> None:
        """work_of: of a plan of another subject."""
        for key, (_, number) in steering(plan, work_of or self.work_of).items():
            self.most[key] = max(self.most.get(key, 0), number)
        for pair, is_equal in pairs(plan):
            self.equal[pair] = is_equal and self.equal.get(pair, True)

    def beyond(self, plan: Plan, work_of: WorkOf) -> tuple[float, float]:
        """How many times as much a program of this plan has to do as in the plans that were added, by a loop or a
        number among the arguments, or how often there is what was at most 1; and how many times as large a number is,
        whether or not there are more programs for it. 0 where that is not twice as much. Numbers that differ where they
        were equal in every launch, such as the columns of a row and those that are added up, count as twice as much."""
        times = {key: number / max(self.most.get(key, 0), 1) for key, (_, number) in steering(plan, work_of).items()}
        programs = {kernel: math.prod(times.get((kernel, axis), 1) for axis in AXES) for kernel, _ in times}
        differs = any(self.equal.get(pair, False) and not is_equal for pair, is_equal in pairs(plan))
        of_programs, of_numbers = [2.0 * differs], [0.0]
        for (kernel, what), more in times.items():
            if self.most.get((kernel, what), 0) <= 1 or what.startswith("`"):
                of_programs.append(more)
            elif what not in AXES:
                of_programs.append(more / max(programs[kernel], 1))
                of_numbers.append(more)
        one, other = (max(more for more in found if not 0 < more < 2 and more < math.inf)
                      for found in (of_programs, of_numbers))  # fmt: skip
        return one, other

    def lacking(self, plan: Plan) -> dict[Key, float]:
        """What was at most 1 and is more in this plan. Of a kernel that was never launched, that alone."""
        found = {key: least for key, (least, _) in steering(plan, self.work_of).items()
                 if least > self.most.get(key, 0) <= 1}  # fmt: skip
        return {key: number for key, number in found.items() if key[1] == LAUNCHES or (key[0], LAUNCHES) in self.most}

    def texts(self, plans: Mapping[str, Plan]) -> Iterator[str]:
        """What these plans lack, by case: a text for each kernel and number, with the first case that lacks it."""
        first: dict[Key, tuple[float, str]] = {}
        for case, plan in plans.items():
            first = {key: (number, case) for key, number in self.lacking(plan).items()} | first
        for kernel, lacking in dict.fromkeys((kernel, lacking) for (kernel, _), lacking in first.items()):
            listed = ", ".join(what for (one, what), found in first.items() if (one, found) == (kernel, lacking))
            number, case = lacking
            before = "at most 1" if (kernel, LAUNCHES) in self.most else "none"
            yield f"{NEVER_EXERCISED}{kernel}: {listed} ({number:g} on case {case}, {before} where it was judged)"
