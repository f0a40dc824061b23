"""Derived cases for what steers kernels on a stated case that has no verdict here, and was at most 1 on all others."""

from __future__ import annotations

import math

from kernelwright.errors import ProblemError
from kernelwright.model import CaseResult, Status
from kernelwright.worker.judge.messages import Between
from kernelwright.worker.plan.steering import Exercised
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.stages.configs import FAILED
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import not_for_interpreter, replayed, undecided, unfinished

MOST_PROGRAMS = 2048
"""Most programs of a call that is replayed here. The interpreter takes about a millisecond for each of their steps."""


def exercise(subject: Subject, results: list[CaseResult]) -> CaseResult | None:
    """Judge cases between a small one and one without a verdict, if these exercise more; returns the first failure.
    What no judged case exercises is added to `subject.unjudged`."""
    infos = {info.case.name: info for info in subject.session.loaded().cases}
    of = {status: [one.case for one in results if one.status is status and one.case in subject.plans]
          for status in (Status.PASSED, Status.NOT_VERIFIED)}  # fmt: skip
    judged, stated = of[Status.PASSED], [name for name in of[Status.NOT_VERIFIED]
                                         if name in infos and not infos[name].case.derived]  # fmt: skip
    small = [name for name in judged if name in infos and infos[name].case.small and not infos[name].case.held_out]
    exercised = Exercised(subject.work)
    for name in judged:
        exercised.add(subject.plans[name])
    large = next((name for name in stated if exercised.lacking(subject.plans[name])), "")
    if large and small and not subject.processes.on_gpu:
        largest = max(small, key=lambda name: infos[name].bytes)
        try:
            if failed := _judged_between(subject, largest, large, exercised):
                return failed
        except (ProblemError, Ended):
            pass  # a case between cannot be judged: what it would exercise is named
    subject.unjudged += exercised.texts({name: subject.plans[name] for name in stated})
    return None


def _judged_between(subject: Subject, small: str, large: str, exercised: Exercised) -> CaseResult | None:
    """Judge the cases between two that exercise what the large one does, on one draw, and add them to `exercised`.
    Returns the first failure; raises Ended if they cannot be recorded or compiled."""
    with subject.leased("exercise"):
        added = subject.processes.ask_judge(Between(small=small, large=large))
    other = Subject(subject.session, subject.candidate, added.shapes)
    other.autotune_stated = subject.autotune_stated | subject.autotune_moved
    other.prepare([case.name for case in added.cases])
    exercised.work_of = lambda launch: subject.work(launch) or other.work(launch)
    with other.undisturbed(), other.leased("exercise"):
        for case in added.cases:
            plan = other.plans.get(case.name)
            if plan is None or not_for_interpreter(case, plan, other.untrue_on_interpreter(plan)):
                continue
            wanted, found = exercised.lacking(subject.plans[large]), exercised.lacking(plan)
            if sum(math.prod(one.grid) for one in plan.launches) > MOST_PROGRAMS or not wanted.keys() & found.keys():
                continue
            result = replayed(other, case.name, plan, draw=0)
            if result.status in FAILED:
                return result
            if result.status is Status.PASSED:
                if doubts := undecided(other, case.name, plan):
                    return unfinished(subject, case, doubts[0])
                exercised.add(plan)
    return None
