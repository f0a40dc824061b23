"""Calls in other surroundings: where gradients are recorded, in inference mode, with other addresses.

Host code may read them. A plan that differs there is judged on one small case, and both plans then count as judged.
"""

from __future__ import annotations

import msgspec

from kernelwright.model import CaseResult, Status
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.record.messages import Surroundings
from kernelwright.worker.stages.configs import FAILED, largest_small
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify

OTHERS: dict[Surroundings, str] = {
    "training": "where gradients are recorded",
    "inference": "in inference mode, or with memory that is not aligned",
}


def judge_surroundings(subject: Subject, results: list[CaseResult]) -> CaseResult | None:
    """The first failure of another plan on the largest small case that passed. What raises there, or cannot be judged,
    is added to `subject.unjudged`. A forward and a backward are called where no gradients are recorded."""
    case = "" if subject.session.loaded().gradients else largest_small(subject, results)
    judged = [subject.plans[case]] if case else []
    others = subject.recorded_in(tuple(OTHERS), case) if case else {}
    for surroundings, other in others.items():
        where = OTHERS[surroundings]
        plan = other.plans.get(case)
        if plan in judged:
            continue
        result = other.unplanned[case] if plan is None else _verified(other, case)
        if plan is not None and result.status in FAILED:
            return msgspec.structs.replace(result, reason=f"{where}: {result.reason}")
        if plan is not None and result.status is Status.PASSED:
            judged.append(plan)
            subject.taken[case] |= other.taken[case]
        else:
            subject.unjudged.append(f"{where} it does something else: {result.status.value}: {result.reason}")
    return None


def _verified(other: Subject, case: str) -> CaseResult:
    try:
        other.compile_plans()
        with other.undisturbed():
            return verify(other, other.info(case).case)
    except Ended as ended:
        return CaseResult(case=case, status=ended.status, reason=ended.reason)
