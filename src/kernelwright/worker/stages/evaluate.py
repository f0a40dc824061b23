"""One candidate, from source to evaluation: cheap checks first, and nothing believed.

static → record → compile → verify → time. Failure is data. On a machine without a GPU the verification runs on the
interpreter, for small cases, and the time is an estimate.
"""

from __future__ import annotations

import msgspec

from kernelwright import stats
from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Case, CaseResult, Evaluation, Incumbent, KernelResources, Status
from kernelwright.source import parse as syntax
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.session import Session
from kernelwright.worker.stages.measure import estimate, library_shares, measure
from kernelwright.worker.stages.necessity import imitated, superfluous
from kernelwright.worker.stages.physical import verified_anew
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify, verify_strided

GOOD = (Status.PASSED, Status.NOT_VERIFIED)
WHOLE = ("verify", "confirm")
"""Purposes that look at every case, whatever becomes of the others; the rest end at the first failure."""


def evaluate(session: Session, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
    """The whole way for one purpose: "search", "tune", "verify" or "confirm".

    incumbent: what the candidate races against when it is timed; None where it is timed alone, as a confirmation is.
    """
    return session.processes.twice_if_lost(lambda: _evaluated(session, candidate, purpose, incumbent))


def _evaluated(
    session: Session, candidate: Candidate, purpose: str, incumbent: Incumbent | None
) -> tuple[Evaluation, bool]:
    """The evaluation, and whether it ended because a process was lost."""
    ordered = sorted(cases_for(session, purpose), key=lambda case: (not case.small, case.held_out))
    try:
        subject = Subject(session, candidate)
    except ConfigError as error:
        return Evaluation(status=Status.REJECTED, reason=str(error)), False
    except SyntaxError as error:
        return Evaluation(status=Status.COMPILE_ERROR, reason=syntax.complaint(error)), False
    ordered = with_strided(session, ordered)
    results: list[CaseResult] = []
    try:
        subject.prepare([case.name for case in ordered])
        with subject.undisturbed():
            if purpose == "confirm":
                session.processes.renew()
            for case in ordered:
                if any(result.status not in GOOD and case.name.startswith(f"{result.case}/") for result in results):
                    continue  # wrong as its inputs are: laid out otherwise they say nothing more
                results.append(judged(subject, case, purpose, incumbent))
                if results[-1].status not in GOOD and purpose not in WHOLE:
                    break
            if any(result.below_bound for result in results) and all(result.status in GOOD for result in results):
                results = once_more(subject, results)
    except Ended as ended:
        return evaluation(subject, ended.status, ended.reason, results), ended.lost
    return evaluation(subject, *conclusion(results, list(subject.unfinished.values())), results), False


def once_more(subject: Subject, results: list[CaseResult]) -> list[CaseResult]:
    """The results of a candidate that was faster than a derived bound, unless it is not right on everything."""
    session = subject.session
    doubt = verified_anew(subject, with_strided(session, [info.case for info in session.loaded().cases]))
    if doubt is None:
        return results
    return [*(result for result in results if result.case != doubt.case), doubt]


def cases_for(session: Session, purpose: str) -> list[Case]:
    """Those that an evaluation of this purpose looks at, in the problem's order.

    "tune" leaves the small cases to the confirmation: a config changes how the timed ones are computed, and compiling
    kernels for small odd shapes took three times as long as for large even ones. Without a GPU only small cases can be
    judged, so there they stay.
    """
    cases = [info.case for info in session.loaded().cases]
    if purpose in WHOLE:
        return cases
    return [
        case for case in cases if not (case.held_out or (case.small and purpose == "tune" and session.processes.on_gpu))
    ]


def with_strided(session: Session, cases: list[Case]) -> list[Case]:
    """The cases, and after the one that it is made from the one whose inputs lie in memory otherwise."""
    known = {info.case.name for info in session.loaded().cases}
    added = {name.rpartition("/")[0]: name for shape in session.shapes if (name := shape.name) not in known}
    found = []
    for case in cases:
        found.append(case)
        if case.name in added:
            found.append(msgspec.structs.replace(case, name=added[case.name]))
    return found


def judged(subject: Subject, case: Case, purpose: str, incumbent: Incumbent | None) -> CaseResult:
    """One case verified, its kernels shown to be needed, and (where asked for and possible) timed. A confirmation is
    timed alone: what loses a race is not checked to the end."""
    if case.name not in {info.case.name for info in subject.session.loaded().cases}:
        return verify_strided(subject, case)
    result = verify(subject, case)
    if result.status is Status.PASSED:
        rejection = superfluous(subject, case.name) or imitated(subject, case.name, purpose != "tune")
        if rejection is not None:
            return rejection
        result = msgspec.structs.replace(result, library=library_shares(subject, case.name))
    if purpose != "verify" and not case.small:
        if result.status is Status.PASSED:
            return measure(subject, result, None if purpose == "confirm" else incumbent)
        if result.status is Status.NOT_VERIFIED and case.name in subject.plans:
            return msgspec.structs.replace(result, timing=estimate(subject, case.name))
    return result


def conclusion(results: list[CaseResult], unfinished: list[CaseResult]) -> tuple[Status, str]:
    """Passed when every case passed (on the interpreter: every case it can judge, and at least one), and no case ended
    before all of its draws. unfinished: those that did."""
    failed = [result for result in results if result.status not in GOOD] or unfinished
    if failed:
        return failed[0].status, f"case {failed[0].case}: {failed[0].reason}"
    if all(result.status is Status.NOT_VERIFIED for result in results):
        return Status.NOT_VERIFIED, results[0].reason if results else "the problem has no case for this purpose"
    return Status.PASSED, ""


def evaluation(subject: Subject, status: Status, reason: str, results: list[CaseResult]) -> Evaluation:
    """Everything found out, as a record; the score is over the timed cases of a candidate that passed."""
    session = subject.session
    scored = {info.case.name for info in session.loaded().cases if info.case.timed}
    timings = [result.timing for result in results if result.timing is not None and result.case in scored]
    counted = timings if status is Status.PASSED else []
    judged_source, unjudged = subject.shipped(results) if status in GOOD else (None, ())
    compared = any(result.status in (Status.PASSED, Status.WRONG) for result in results)
    return Evaluation(
        status=status,
        reason=reason,
        results=tuple(results),
        verified_on=None if not compared else "device" if session.processes.on_gpu else "interpreter",
        score_us=stats.geometric_mean([timing.median_us for timing in counted]) if counted else None,
        timing_kind=counted[0].kind if counted else None,
        gpu=session.processes.machine["uuid"] or "",
        kernels=distinct(subject.resources),
        compiled=subject.identity(),
        autotune=subject.autotune,
        autotune_moved=subject.autotune_moved,
        stages_s=subject.stages_s,
        confinement=subject.confinement,
        log=subject.log,
        unqualified=session.unqualified,
        judged_source=judged_source,
        unjudged=unjudged,
        serves=tuple(dict.fromkeys(one for result in results for one in result.serves)),
        dead=session.dead,
        precision=session.loaded().precision,
        library=session.loaded().library,
    )


def distinct(resources: dict[str, KernelResources]) -> tuple[KernelResources, ...]:
    """One entry per compiled code, by name, largest footprint first."""
    found = {kernel.cubin_sha: kernel for kernel in resources.values()}
    return tuple(sorted(found.values(), key=lambda kernel: (kernel.kernel, -kernel.registers)))
