"""Evaluation of one candidate, cheap checks first: static → record → compile → verify → time.

A failing candidate is a result, not an exception. On a machine without a GPU small cases are verified on the CPU
interpreter, and the time is an estimate.
"""

from __future__ import annotations

import msgspec

from kernelwright import stats
from kernelwright.model import Candidate, Case, CaseResult, Evaluation, Incumbent, KernelResources, Status
from kernelwright.worker.processes.outcome import Ended, Killed, Lost
from kernelwright.worker.session import Session
from kernelwright.worker.stages.ahead import begin_ahead
from kernelwright.worker.stages.exercised import exercise
from kernelwright.worker.stages.measure import estimate, library_shares, measure
from kernelwright.worker.stages.necessity import imitated, leave_out, superfluous
from kernelwright.worker.stages.other_plans import judge_configs, judge_surroundings
from kernelwright.worker.stages.physical import verified_anew
from kernelwright.worker.stages.served import at_odd_sizes, served
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify, verify_strided

GOOD = (Status.PASSED, Status.NOT_VERIFIED)
WHOLE = ("verify", "confirm")
"""Purposes that check every case. Evaluations for other purposes end at the first case that fails."""


def evaluate(session: Session, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
    """Evaluate a candidate for one purpose: "search", "tune", "verify" or "confirm".

    incumbent: the best candidate so far, which this one races against; None to time it alone, as a confirmation does.
    """
    try:
        found = session.processes.twice_if_lost(lambda: _evaluated(session, candidate, purpose, incumbent))
    except Lost as lost:
        return lost.evaluation or Evaluation(status=lost.status, reason=lost.reason)
    if found.status is Status.PASSED and purpose == "search" and session.processes.on_gpu:
        begin_ahead(session)
    return found


def _evaluated(session: Session, candidate: Candidate, purpose: str, incumbent: Incumbent | None) -> Evaluation:
    """One attempt. Raises Lost."""
    ordered = sorted(cases_for(session, purpose), key=lambda case: (not case.small, case.held_out))
    try:
        subject = Subject(session, candidate)
    except Ended as ended:
        return Evaluation(status=ended.status, reason=ended.reason)
    ordered = with_strided(session, ordered)
    results, instead = list[CaseResult](), list[Case]()
    try:
        subject.prepare([case.name for case in ordered])
        with subject.undisturbed():
            if purpose == "confirm":
                session.processes.renew()
            for case in ordered:
                if any(result.status not in GOOD and case.name.startswith(f"{result.case}/") for result in results):
                    continue  # the dense case failed: its strided copy would show nothing new
                results.append(judged(subject, case, purpose, incumbent))
                if results[-1].status not in GOOD and purpose not in WHOLE:
                    break
            if are_good(results) and (purpose in WHOLE or not session.processes.on_gpu):
                instead = served(subject)
                results += [verified(subject, case, purpose) for case in instead]
            if are_good(results):
                results = replaced(results, superfluous(subject))
            if are_good(results) and any(result.below_bound for result in results):
                every = with_strided(session, [info.case for info in session.loaded().cases])
                results = replaced(results, verified_anew(subject, every))
        if purpose in WHOLE and are_good(results):
            results = replaced(results, exercise(subject, results, instead))
        if purpose in WHOLE and are_good(results):
            results = replaced(results, judge_surroundings(subject, results))
        if purpose in WHOLE and are_good(results) and any(one.status is Status.PASSED for one in results):
            results += at_odd_sizes(subject)
        if purpose == "verify" and are_good(results):
            with subject.stage("configs"):
                results = replaced(results, judge_configs(subject, results))
    except Ended as ended:
        return evaluation(subject, ended.status, ended.reason, results, isinstance(ended, Killed))
    except Lost as lost:
        lost.evaluation = evaluation(subject, lost.status, lost.reason, results)
        raise
    return evaluation(subject, *conclusion(results, list(subject.unfinished.values())), results)


def are_good(results: list[CaseResult]) -> bool:
    return all(result.status in GOOD for result in results)


def replaced(results: list[CaseResult], failed: CaseResult | None) -> list[CaseResult]:
    """The results, with a later failure of a case in place of its result."""
    return results if failed is None else [*(one for one in results if one.case != failed.case), failed]


def cases_for(session: Session, purpose: str) -> list[Case]:
    """The cases that an evaluation for this purpose checks, in the problem's order.

    "tune" leaves small cases to the confirmation: configs are tuned for the timed cases, and compiling kernels for
    small odd shapes took three times as long as for large even ones. Without a GPU only small cases can be judged, so
    "tune" keeps them there.
    """
    cases = [info.case for info in session.loaded().cases]
    if purpose in WHOLE:
        return cases
    return [
        case for case in cases if not (case.held_out or (case.small and purpose == "tune" and session.processes.on_gpu))
    ]


def with_strided(session: Session, cases: list[Case]) -> list[Case]:
    """The cases, and behind the smallest case its copies (the same inputs in other layouts)."""
    known = {info.case.name for info in session.loaded().cases}
    copies = [shape.name for shape in session.shapes if shape.name not in known]
    found = []
    for case in cases:
        found.append(case)
        own = [name for name in copies if name.rpartition("/")[0] == case.name]
        found += [msgspec.structs.replace(case, name=name) for name in own]
    return found


def judged(subject: Subject, case: Case, purpose: str, incumbent: Incumbent | None) -> CaseResult:
    """Verify one case, check that each kernel is necessary, and time it if the purpose asks for it. A confirmation is
    timed alone: a candidate that loses a race would not be checked to the end."""
    if case.name not in {info.case.name for info in subject.session.loaded().cases}:
        return verify_strided(subject, case)
    result = verified(subject, case, purpose)
    if purpose != "verify" and not case.small:
        if result.status is Status.PASSED:
            return measure(subject, result, None if purpose == "confirm" else incumbent)
        if result.status is Status.NOT_VERIFIED and case.name in subject.plans:
            return msgspec.structs.replace(result, timing=estimate(subject, case.name))
    return result


def verified(subject: Subject, case: Case, purpose: str) -> CaseResult:
    """Verify one case, and check that each kernel is necessary."""
    result = verify(subject, case)
    if result.status is not Status.PASSED:
        return result
    leave_out(subject, case)
    if (rejection := imitated(subject, case.name, purpose != "tune")) is not None:
        return rejection
    return msgspec.structs.replace(result, library=library_shares(subject, case.name))


def conclusion(results: list[CaseResult], unfinished: list[CaseResult]) -> tuple[Status, str]:
    """Status and reason of the evaluation. It passed if every case passed (on the interpreter: every case that it can
    judge, and at least one). unfinished: cases without a verdict on all of their elements: time ran out, or too few
    draws judge some."""
    failed = [result for result in results if result.status not in GOOD] or unfinished
    if failed:
        return failed[0].status, f"case {failed[0].case}: {failed[0].reason}"
    if all(result.status is Status.NOT_VERIFIED for result in results):
        return Status.NOT_VERIFIED, results[0].reason if results else "the problem has no case for this purpose"
    return Status.PASSED, ""


def evaluation(
    subject: Subject, status: Status, reason: str, results: list[CaseResult], killed: bool = False
) -> Evaluation:
    """The evaluation as a record. Only a candidate that passed has a score, over its timed cases."""
    session = subject.session
    scored = {info.case.name for info in session.loaded().cases if info.case.timed}
    timings = [result.timing for result in results if result.timing is not None and result.case in scored]
    counted = timings if status is Status.PASSED else []
    judged_source, unjudged = subject.shipped(results) if status in GOOD else (None, ())
    compared = any(result.status in (Status.PASSED, Status.WRONG) for result in results)
    return Evaluation(
        status=status, reason=reason, killed=killed, results=tuple(results),
        verified_on=None if not compared else "device" if session.processes.on_gpu else "interpreter",
        score_us=stats.geometric_mean([timing.median_us for timing in counted]) if counted else None,
        timing_kind=counted[0].kind if counted else None, gpu=session.processes.machine.uuid or "",
        kernels=distinct(subject.resources), compiled=subject.identity(), autotune=subject.autotune,
        autotune_moved=subject.autotune_moved, stages_s=subject.stages_s, confinement=subject.confinement,
        log=subject.log, unqualified=session.report.reason, judged_source=judged_source,
        unjudged=(*unjudged, *subject.unjudged),
        serves=tuple(dict.fromkeys(one for result in results for one in result.serves)),
        dead=session.report.dead, constant=session.report.constant,
        precision=session.loaded().precision, library=session.loaded().library,
    )  # fmt: skip


def distinct(resources: dict[str, KernelResources]) -> tuple[KernelResources, ...]:
    """One entry per compiled code, sorted by kernel name, then by registers, largest first."""
    found = {kernel.cubin_sha: kernel for kernel in resources.values()}
    return tuple(sorted(found.values(), key=lambda kernel: (kernel.kernel, -kernel.registers)))
