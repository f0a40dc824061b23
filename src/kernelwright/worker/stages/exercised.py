"""Longer cases for a machine that judges small cases only, and what no judged case exercises.

A stated case without a verdict has sizes, and numbers that steer kernels, which no judged case reaches.
"""

from __future__ import annotations

import math

from kernelwright.errors import ProblemError
from kernelwright.model import Case, CaseResult, Status
from kernelwright.worker.judge.messages import Longer
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.plan import Plan
from kernelwright.worker.plan.steering import Exercised
from kernelwright.worker.plan.work import WorkOf
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.stages.configs import FAILED
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import not_for_interpreter, replayed, undecided, unfinished

MOST_STEPS, ALL_STEPS = 2048, 2400
"""Most steps of a call that is replayed here, and of all of them, see `steps`. The interpreter takes about a
millisecond for each."""

MOST_CASES = 6
"""Most longer cases of a round: each is recorded and compiled."""

ROUNDS = 3
"""How often cases with too many steps are replaced by smaller ones."""


def exercise(subject: Subject, results: list[CaseResult]) -> CaseResult | None:
    """Judge longer cases, where stated ones have no verdict on this machine; returns the first failure. What no judged
    case exercises is added to `subject.unjudged`."""
    infos = {info.case.name: info for info in subject.session.loaded().cases}
    of = {status: [one.case for one in results if one.status is status and one.case in subject.plans]
          for status in (Status.PASSED, Status.NOT_VERIFIED)}  # fmt: skip
    judged, stated = of[Status.PASSED], [name for name in of[Status.NOT_VERIFIED]
                                         if name in infos and not infos[name].case.derived]  # fmt: skip
    small = [name for name in judged if name in infos and infos[name].case.small and not infos[name].case.held_out]
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
    """Judge longer cases on the problem's own inputs, those with the fewest steps first, and add them to `exercised`.
    Returns the first failure; raises Ended if they cannot be recorded or compiled."""
    spent = 0.0
    for cost, case, other in sorted(_longer(subject, small, stated), key=lambda one: one[0]):
        spent += cost
        if spent > ALL_STEPS:
            break
        plan = other.plans[case.name]
        with other.undisturbed(), other.leased("exercise"):
            result = replayed(other, case.name, plan, draw=0)
            if result.status in FAILED:
                return result
            if result.status is Status.PASSED:
                if doubts := undecided(other, case.name, plan):
                    return unfinished(subject, case, doubts[0])
                exercised.add(plan, other.work)
    return None


def _longer(subject: Subject, small: list[str], stated: list[str]) -> list[tuple[float, Case, Subject]]:
    """Longer cases that the interpreter can replay in at most MOST_STEPS, with their steps and their plans."""
    judged, found = tuple(small), []
    parts: dict[str, dict[str, int] | None] = dict.fromkeys(stated)
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
        other = Subject(subject.session, subject.candidate, tuple(shapes))
        other.autotune_stated = subject.autotune_stated | subject.autotune_moved
        other.prepare([case.name for case, _, _ in cases])
        costly: dict[str, dict[str, int] | None] = {}
        for case, large, names in cases:
            plan = other.plans.get(case.name)
            if plan is None:
                why = other.unplanned[case.name].reason
                subject.unjudged.append(f"case {case.name}, which was derived: {why}")
            elif not not_for_interpreter(case, plan, other.untrue_on_interpreter(plan)):
                cost = steps(plan, other.work)
                if cost <= MOST_STEPS:
                    found.append((cost, case, other))
                    judged += (case.name,)
                    continue
                before = parts[large] or {}
                more = 2 ** math.ceil(math.log2(cost / MOST_STEPS)) if len(names) == 1 else 1
                costly[large] = {**(costly.get(large) or {}), **{name: before.get(name, 1) * more for name in names}}
        parts = costly
    return found


def steps(plan: Plan, work_of: WorkOf) -> float:
    """The programs of a call, each with the iterations of its loops as far as these are known."""
    found = 0.0
    for launch in plan.launches:
        work = work_of(launch)
        trips = [most for _, most in work.trips.values() if math.isfinite(most)] if work is not None else []
        found += math.prod(launch.grid) * max(1, sum(trips))
    return found
