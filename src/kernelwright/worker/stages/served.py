"""Which sizes a candidate serves: cases in place of derived ones that it refuses, and a case of odd sizes.

Derived sizes are not the problem's own, so a candidate may refuse them. It is then judged at others: those of the
stated case, with as many numbers of the derived one as it serves. Where a problem states held-out cases, a candidate
that fails at odd sizes serves measured sizes only.
"""

from __future__ import annotations

import msgspec

from kernelwright.errors import ProblemError
from kernelwright.model import Case, CaseResult, Property, Scalar, Status
from kernelwright.worker.judge.messages import Like, Odd
from kernelwright.worker.processes.outcome import Ended, Lost
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify


def served(subject: Subject) -> list[Case]:
    """The cases in place of refused ones, recorded and compiled. Raises Ended."""
    infos = {info.case.name: info.case for info in subject.session.loaded().cases}
    stated = next((one for name, one in infos.items() if one.timed and name in subject.plans), None)
    refused = [infos[name] for name, result in subject.unplanned.items() if name in infos and result.serves]
    if stated is None:
        return []
    kept, found = frozenset[str](), list[Case]()
    for case in [one for one in refused if one.derived]:
        kept = _kept(subject, stated, case, kept)
        if (made := _made(subject, stated, case, kept)) and made.params not in [one.params for one in found]:
            found.append(made)
    return found


def at_odd_sizes(subject: Subject) -> list[CaseResult]:
    """The result of a derived case of odd sizes, for a problem that states held-out cases; [] where there is none. A
    failure there is a property of the candidate."""
    held_out = [info.case for info in subject.session.loaded().cases if info.case.held_out]
    if subject.session.which == "stated" or not held_out or any(case.derived for case in held_out):
        return []
    try:
        with subject.leased("exercise"):
            made = subject.processes.ask_judge(Odd())
        if not made.cases:
            return []
        other, (case,) = subject.beside(made.shapes), made.cases
        other.record_and_compile([case.name])
        with other.undisturbed():
            found = subject.processes.twice_if_lost(lambda: verify(other, case))
    except ProblemError:
        return []
    except (Ended, Lost) as ended:
        if isinstance(ended, Ended) and ended.whole:
            raise
        found = CaseResult(case=made.cases[0].name, status=ended.status, reason=ended.reason)
    if found.status in (Status.PASSED, Status.NOT_VERIFIED):
        return [found]
    sized = Property(name="sized", shown_by="wrong", detail=found.reason)
    why = f"right at stated sizes and not at others: {found.reason}"
    return [msgspec.structs.replace(found, status=Status.NOT_VERIFIED, reason=why, serves=(sized,))]


def _kept(subject: Subject, stated: Case, case: Case, known: frozenset[str]) -> frozenset[str]:
    """The numbers that keep their stated value, because the candidate refuses others or the problem does. known: those
    that did so for another derived case."""
    smaller = _smaller(stated, case)
    if known and _serves(subject, stated, case, smaller.keys() - known):
        return known
    taken = set[str]()
    for name in smaller:
        if _serves(subject, stated, case, taken | {name}):
            taken.add(name)
    return frozenset(smaller.keys() - taken)


def _smaller(stated: Case, case: Case) -> dict[str, Scalar]:
    """The numbers of a derived case that differ from those of the stated one."""
    return {name: value for name, value in case.params.items() if stated.params.get(name) != value}


def _between(stated: Case, case: Case, names: set[str]) -> Case:
    """The stated case with these numbers of the derived one."""
    params = stated.params | {name: value for name, value in _smaller(stated, case).items() if name in names}
    return msgspec.structs.replace(case, params=params, small=False)


def _serves(subject: Subject, stated: Case, case: Case, names: set[str]) -> bool:
    """Whether the candidate's host code takes the stated case with these numbers of the derived one."""
    try:
        with subject.leased("exercise"):
            made = subject.processes.ask_judge(Like(case=_between(stated, case, names), other=stated.name))
        if not made.cases:
            return False
        other = subject.beside(made.shapes)
        other.record([one.name for one in made.cases])
    except (ProblemError, Ended):
        return False
    return bool(other.plans)


def _made(subject: Subject, stated: Case, case: Case, kept: frozenset[str]) -> Case | None:
    """The case with these stated numbers, None if it is too large for this machine or the derived one."""
    names = _smaller(stated, case).keys() - kept
    name = "_".join([case.name, "with", *sorted(kept)])
    small = msgspec.structs.replace(_between(stated, case, names), name=name, small=True)
    if not names or not kept:
        return None
    try:
        with subject.leased("exercise"):
            made = subject.processes.ask_judge(Like(case=small, other=stated.name))
    except ProblemError:
        return None
    if not made.cases:
        return None
    subject.added += made.shapes
    (one,) = made.cases
    subject.record_and_compile([one.name])
    return one if one.name in subject.plans else None
