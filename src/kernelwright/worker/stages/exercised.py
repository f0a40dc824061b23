"""What steers kernels on a stated case and was at most 1 on every case that was judged.

Launches, axes of grids, whole numbers and flags among the arguments, iterations of loops: where there is one split, a
wrong join of splits is right. If this machine cannot run the stated case, cases between it and a small one are derived
and judged on one draw. What they do not reach is named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import msgspec

from kernelwright import codec
from kernelwright.model import NEVER_EXERCISED, Case, CaseResult, Status
from kernelwright.worker.judge.messages import Between
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.plan import Plan, Value, leaves
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.stages.configs import FAILED
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import not_for_interpreter, replayed, undecided, unfinished

MOST_PROGRAMS = 2048
"""Most programs of a call that is replayed here. The interpreter takes about a millisecond for each of their steps."""

Steering = dict[tuple[str, str], tuple[float, float]]
"""By kernel and what steers it, the largest number of it in a call: at least and at most."""


class Added(msgspec.Struct, frozen=True):
    """The judge's answer to `Between`."""

    cases: tuple[Case, ...]
    shapes: tuple[CaseShape, ...]


def steering(subject: Subject, plan: Plan) -> Steering:
    """What steers the kernels of a plan. A loop of one iteration counts as none: the compiler removes it."""
    found: Steering = {}
    for kernel, count in Counter(launch.kernel for launch in plan.launches).items():
        found[kernel, "launches"] = count, count
    for launch in plan.launches:
        numbers = {f"axis {axis} of the grid": size for axis, size in zip("xyz", launch.grid, strict=False)}
        for name, one in leaves(launch.arguments).items():
            if isinstance(one, Value) and one.kind in ("int", "bool"):
                numbers[name] = int(one.text == "True") if one.kind == "bool" else int(one.text)
        work = subject.work(launch)
        every: dict[str, tuple[float, float]] = {what: (number, number) for what, number in numbers.items()}
        for line, trips in ({} if work is None else work.trips).items():
            every[f"`{line}`"] = trips[0] if trips[0] > 1 else 0, trips[1] if trips[1] > 1 else 0
        for what, (least, most) in every.items():
            before = found.get((launch.kernel, what), (0, 0))
            found[launch.kernel, what] = max(before[0], least), max(before[1], most)
    return found


def exercise(subject: Subject, results: list[CaseResult]) -> CaseResult | None:
    """Judge more cases for what only stated cases without a verdict exercise; returns the first failure. What is left
    is added to `subject.unjudged`."""
    infos = {info.case.name: info for info in subject.session.loaded().cases}
    judged = [result.case for result in results if result.status is Status.PASSED and result.case in subject.plans]
    small = [case for case in judged if case in infos and infos[case].case.small and not infos[case].case.held_out]
    most: dict[tuple[str, str], float] = {}
    for case in judged:
        _add(most, steering(subject, subject.plans[case]))
    named: dict[str, None] = {}
    for result in results:
        case, info = result.case, infos.get(result.case)
        if result.status is not Status.NOT_VERIFIED or info is None or info.case.derived or case not in subject.plans:
            continue
        wanted = steering(subject, subject.plans[case])
        if small and _more(wanted, most) and not named and not subject.processes.on_gpu:
            largest = max(small, key=lambda one: infos[one].bytes)
            if (failed := _reached(subject, largest, case, wanted, most)) is not None:
                return failed
        named |= dict.fromkeys(_texts(_more(wanted, most), case))
    subject.unjudged += named
    return None


def _add(most: dict[tuple[str, str], float], found: Steering) -> None:
    for key, (_, number) in found.items():
        most[key] = max(most.get(key, 0), number)


def _more(wanted: Steering, most: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """What is wanted and was at most 1, and less than that. Of a kernel that never ran, nothing but that."""
    found = {key: least for key, (least, _) in wanted.items() if least > most.get(key, 0) <= 1}
    never = {kernel for kernel, _ in found if (kernel, "launches") not in most}
    return {key: least for key, least in found.items() if key[0] not in never or key[1] == "launches"}


def _texts(more: dict[tuple[str, str], float], case: str) -> Iterable[str]:
    """A text for each kernel and number."""
    for kernel, number in dict.fromkeys((kernel, number) for (kernel, _), number in more.items()):
        listed = ", ".join(what for (one, what), found in more.items() if (one, found) == (kernel, number))
        yield f"{NEVER_EXERCISED}{kernel}: {listed} ({number:g} on case {case}, at most 1 where it was judged)"


def _reached(
    subject: Subject, small: str, large: str, wanted: Steering, most: dict[tuple[str, str], float]
) -> CaseResult | None:
    """Judge the cases between two that exercise more, and add them to `most`; returns the first failure."""
    try:
        with subject.leased("exercise"):
            added = codec.record(subject.processes.ask_judge(Between(small=small, large=large)), Added)
        other = Subject(subject.session, subject.candidate, added.shapes)
        other.autotune_stated = subject.autotune_stated | subject.autotune_moved
        other.prepare([case.name for case in added.cases])
        with other.undisturbed(), other.leased("exercise"):
            for case in added.cases:
                plan = other.plans.get(case.name)
                if plan is None or not_for_interpreter(case, plan, other.untrue_on_interpreter(plan)):
                    continue
                found = steering(other, plan)
                before = _more(wanted, most)
                programs = sum(math.prod(launch.grid) for launch in plan.launches)
                if programs > MOST_PROGRAMS or not any(found.get(key, (0, 0))[0] > most.get(key, 0) for key in before):
                    continue
                result = replayed(other, case.name, plan, draw=0)
                if result.status in FAILED:
                    return result
                if doubts := undecided(other, case.name, plan) if result.status is Status.PASSED else []:
                    return unfinished(subject, case, doubts[0])
                if result.status is Status.PASSED:
                    _add(most, found)
    except Ended as ended:
        if ended.lost:
            raise
    return None
