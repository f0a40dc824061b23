"""Longer cases for a machine that judges small cases only, and what no judged case exercises.

A stated case without a verdict has sizes, and numbers that steer kernels, which no judged case reaches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.errors import ProblemError
from kernelwright.model import Case, CaseResult, Status
from kernelwright.worker.judge.messages import Longer
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.plan.steering import Exercised
from kernelwright.worker.plan.work import WorkOf
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.stages.other_plans import FAILED
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import not_for_interpreter, replayed, undecided, unfinished

MOST, ALL = 28_000, 44_000
"""Most operations of a longer case that is judged here, and of all of them; about two seconds. With large judged cases
they are as many as in 2 and 4 calls of each of these. About twenty calls judge a case."""

PROGRAMS = 14_000
"""Most operations of a longer case whose programs have no more to do, but are more."""

MOST_CASES = 8
"""Most longer cases of a round: each is recorded and compiled."""

ROUNDS = 3
"""How often cases with too many operations are replaced by smaller ones."""

MORE = 1.25
"""A size is divided by so much more than needed, for a kernel whose operations do not all depend on it."""


@dataclass(frozen=True, eq=False)
class Long:
    """A longer case, with its plan. is_equal: whether sizes are equal in it that are not in judged cases. cost: its
    operations."""

    case: Case
    subject: Subject
    plan: Plan
    is_equal: bool
    cost: float


def exercise(subject: Subject, results: list[CaseResult], added: Sequence[Case] = ()) -> CaseResult | None:
    """Judge longer cases, where stated ones have no verdict on this machine; returns the first failure. What no judged
    case exercises is added to `subject.unjudged`. added: small cases beside the problem's."""
    infos = {info.case.name: info for info in subject.session.loaded().cases}
    cases = {name: info.case for name, info in infos.items()} | {case.name: case for case in added}
    planned = {one.case: one.status for one in results if one.case in subject.plans}
    stated = [name for name, status in planned.items()
              if status is Status.NOT_VERIFIED and name in infos and not infos[name].case.derived]  # fmt: skip
    judged = [name for name, status in planned.items() if status is Status.PASSED]
    small = [name for name in judged if name in cases and cases[name].small and not cases[name].held_out]
    exercised = Exercised(subject.work)
    for name in judged:
        exercised.add(subject.plans[name])
    if stated and small and not subject.processes.on_gpu:
        try:
            largest_first = sorted(stated, key=lambda name: -infos[name].bytes)  # they leave less to the others
            if failed := _judged_longer(subject, small, largest_first, exercised):
                return failed
        except (ProblemError, Ended):
            pass  # what the longer cases would exercise is named below
    subject.unjudged += exercised.texts({name: subject.plans[name] for name in stated})
    return None


def _judged_longer(subject: Subject, small: list[str], stated: list[str], exercised: Exercised) -> CaseResult | None:
    """Judge longer cases on the problem's own inputs, and add them to `exercised`: in turn the one that exercises most
    beyond what was judged, and none that exercises nothing. Returns the first failure; raises Ended if they cannot be
    recorded or compiled."""
    usual = sum(operations(subject.plans[name], subject.work) for name in small)
    left, waiting = max(4 * usual, ALL), _longer(subject, small, stated, max(2 * usual, MOST))

    def beyond(one: Long) -> tuple[float, ...]:
        more, larger = exercised.beyond(one.plan, one.subject.work)
        return one.is_equal, more, larger * (one.cost <= PROGRAMS)

    waiting = [one for one in waiting if any(beyond(one))]
    while waiting:
        one = max(waiting, key=beyond)
        waiting.remove(one)
        if one.cost > left:
            continue
        left -= one.cost
        with one.subject.undisturbed(), one.subject.leased("exercise"):
            result = replayed(one.subject, one.case.name, one.plan, draw=0)
            if result.status in FAILED:
                return result
            if result.status is Status.PASSED:
                if doubts := undecided(one.subject, one.case.name, one.plan):
                    return unfinished(subject, one.case, doubts[0])
                exercised.add(one.plan, one.subject.work)
    return None


def _longer(subject: Subject, small: list[str], stated: list[str], most: float) -> list[Long]:
    """Longer cases that the interpreter can replay in at most this many operations."""
    judged, found = tuple(small), list[Long]()
    parts: dict[str, dict[str, float] | None] = dict.fromkeys(stated)
    for _ in range(ROUNDS):
        cases: list[tuple[Case, str, tuple[str, ...]]] = []
        shapes: list[CaseShape] = []
        for large, sizes in parts.items():
            if len(cases) >= MOST_CASES:
                break
            known = judged + tuple(case.name for case, _, _ in cases)
            asked = Longer(judged=known, large=large, parts=None if sizes is None else tuple(sizes.items()))
            with subject.leased("exercise"):
                added = subject.processes.ask_judge(asked)
            cases += [(case, large, added.names[case.name]) for case in added.cases]
            shapes += added.shapes
        del cases[MOST_CASES:]
        if not cases:
            break
        other = subject.beside(tuple(shapes))
        other.record_and_compile([case.name for case, _, _ in cases])
        costly: dict[str, dict[str, float] | None] = {}
        for case, large, names in cases:
            plan = other.plans.get(case.name)
            if plan is None:
                why = other.unplanned[case.name].reason
                subject.unjudged.append(f"case {case.name}, which was derived: {why}")
            elif not not_for_interpreter(case, plan, other.untrue_on_interpreter(plan)):
                cost = operations(plan, other.work)
                if cost <= most:
                    is_equal = len({case.params.get(name) for name in names}) < len(names)
                    found.append(Long(case, other, plan, is_equal, cost))
                    judged += (case.name,)
                    continue
                if len(names) == 1:
                    part = (parts[large] or {}).get(names[0], 1) * MORE * cost / most
                    costly[large] = {**(costly.get(large) or {}), names[0]: part}
        parts = costly
    return found


def operations(plan: Plan, work_of: WorkOf) -> float:
    """About how many operations a call takes; as many as launches have programs where that is not known."""
    works = [(launch, work_of(launch)) for launch in plan.launches]
    return sum(math.prod(launch.grid) if work is None else work.operations for launch, work in works)
