"""`bench`: a paired benchmark of candidates and the framework's own implementations (rows), sampled in turn.

A copy of the fastest candidate is sampled too, and not shown: its difference from its original is the noise floor of
the verdicts. Ratios are taken within a round, so that drift of clocks and temperature affects all rows alike.
"""

from __future__ import annotations

import msgspec

from kernelwright import stats
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import (
    FRAMEWORK,
    BenchCase,
    BenchReport,
    Candidate,
    CaseInfo,
    CaseResult,
    Implementation,
    Status,
)
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.processes.children import ServerEnded
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.session import Session
from kernelwright.worker.stages.ahead import compile_ahead, not_begun
from kernelwright.worker.stages.evaluate import GOOD, with_strided
from kernelwright.worker.stages.measure import check_timed, estimate, library_shares
from kernelwright.worker.stages.necessity import imitated
from kernelwright.worker.stages.physical import impossible, verified_anew
from kernelwright.worker.stages.rows import Row, candidate_row, framework_row
from kernelwright.worker.stages.samples import COPY, sample_case
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import place, verify


def bench(
    session: Session,
    candidates: dict[str, Candidate],
    names: tuple[str, ...],
    framework: tuple[str, ...],
    against: str | None = None,
) -> BenchReport:
    """Benchmark every implementation on every named case; on all but the small cases if none is named.

    against: the row that ratios and verdicts refer to; None for the fastest of the framework's own.
    """
    known = {info.case.name: info for info in session.loaded().cases}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ProblemError(f"no case {unknown[0]!r}", f"known: {', '.join(known)}")
    chosen = [known[n] for n in names] if names else [info for info in known.values() if not info.case.small]
    subjects: dict[str, Subject | Implementation] = {}
    for name, candidate in candidates.items():
        try:
            subject = Subject(session, candidate)
            subject.prepare([info.case.name for info in known.values() if info.case.small or info in chosen])
            subjects[name] = subject
        except Ended as ended:
            subjects[name] = Implementation(name=name, status=ended.status, reason=ended.reason)
    if session.processes.on_gpu:
        compile_ahead(session, chosen, not_begun(session, chosen, framework))
        cases = tuple(measured(session.processes, info, subjects, framework, against) for info in chosen)
    else:
        cases = tuple(estimated_case(info, subjects) for info in chosen)
    return BenchReport(
        problem=session.loaded().name,
        environment=session.environment(),
        cases=cases,
        unqualified=session.report.reason,
        library=session.loaded().library,
        dtype=session.loaded().dtype,
    )


def estimated_case(info: CaseInfo, subjects: dict[str, Subject | Implementation]) -> BenchCase:
    """The result of a case without a GPU: a time per candidate, estimated from its resources, and no framework rows."""
    rows = []
    for name, subject in subjects.items():
        if isinstance(subject, Implementation):
            rows.append(subject)
            continue
        failed = subject.unplanned.get(info.case.name)
        if failed is not None:
            rows.append(Implementation(name=name, status=failed.status, reason=failed.reason))
            continue
        timing, result = estimate(subject, info.case.name), interpreted(subject, info)
        rows.append(
            Implementation(
                name=name,
                status=result.status,
                reason=result.reason,
                median_us=timing.median_us,
                kind="estimate",
                method=timing.method,
            )
        )
    return case_report(info, rows)


def interpreted(subject: Subject, info: CaseInfo) -> CaseResult:
    """The interpreter's result on a case. A failure ends the case for this candidate only."""

    def attempt() -> tuple[CaseResult, bool]:
        try:
            return verified(subject, info), False
        except Ended as ended:
            return CaseResult(case=info.case.name, status=ended.status, reason=ended.reason), ended.lost

    return subject.processes.twice_if_lost(attempt)


def measured(
    processes: Processes,
    info: CaseInfo,
    subjects: dict[str, Subject | Implementation],
    framework: tuple[str, ...],
    against: str | None,
) -> BenchCase:
    """`measured_case`, repeated once if a process was lost. Raises `WorkerError` if one was lost twice."""

    def attempt() -> tuple[BenchCase | Ended, bool]:
        try:
            return measured_case(processes, info, subjects, framework, against), False
        except Ended as ended:
            if not ended.lost:
                raise
            return ended, True

    found = processes.twice_if_lost(attempt)
    if isinstance(found, Ended):
        raise WorkerError(f"the benchmark of case {info.case.name} failed twice: {found.reason}") from found
    return found


def measured_case(
    processes: Processes,
    info: CaseInfo,
    subjects: dict[str, Subject | Implementation],
    framework: tuple[str, ...],
    against: str | None,
) -> BenchCase:
    """Verify all candidates on one case, then sample all rows in turn.

    The judge needs the reference in float64 (four times the memory of bfloat16, its intermediates too) before the
    framework's rows are prepared, or after they are forgotten: for 3.5 GB of input, 80 GB are too small for both. So
    the candidates get their inputs, which it writes, first.
    """
    case = info.case.name
    rows: list[Row] = []
    with processes.lease:
        processes.drop("bench")
        failed = [row for name, one in subjects.items() if (row := failed_row(info, name, one)) is not None]
        bad = {row.name for row in failed}
        room = largest(subjects, case)
        for name, subject in subjects.items():
            if name in bad or isinstance(subject, Implementation):
                continue
            outcome = candidate_row(processes, info, name, subject, room)
            if isinstance(outcome, Row):
                rows.append(outcome)
            else:
                failed.append(outcome)
        copied = copy_of_fastest(processes, info, rows, subjects, room)
        if isinstance(copied, Row):
            rows.append(copied)
        for outcome in (framework_outcome(processes, info, name) for name in framework):
            if isinstance(outcome, Row):
                rows.append(outcome)
            else:
                failed.append(outcome)
        sampled = sample_case(processes, info, rows, copied, against)
        failed += sampled.failed
        finished = [with_shares(row, subjects.get(row.name), case) for row in sampled.finished]
        processes.ask_judge(to_judge.Forget())
        failed += timed_failures(info, subjects, finished)
        processes.drop("bench")
    bad = {row.name for row in failed}
    finished.sort(key=lambda row: row.name not in FRAMEWORK)
    found = case_report(info, [*(row for row in finished if row.name not in bad), *failed])
    return msgspec.structs.replace(
        found,
        order_seed=sampled.seed,
        exchanged_after=sampled.half,
        noise_floor=sampled.floor.fraction,
        noise_floor_source=sampled.floor.source,
    )


def framework_outcome(processes: Processes, info: CaseInfo, name: str) -> Row | Implementation:
    """A prepared row of the framework, or a failed one."""
    try:
        return framework_row(processes, info, name)
    except ServerEnded:
        raise
    except (ProblemError, WorkerError) as error:
        return Implementation(name=name, status=Status.RUNTIME_ERROR, reason=str(error)[:400])


def copy_of_fastest(
    processes: Processes, info: CaseInfo, rows: list[Row], subjects: dict[str, Subject | Implementation], room: int
) -> Row | Implementation | None:
    """A second row of the candidate that was fastest in its warm-up samples; None if there is no candidate."""
    candidates = [row for row in rows if isinstance(subjects.get(row.name), Subject)]
    if not candidates:
        return None
    fastest = min(candidates, key=lambda row: stats.median(row.steady_us))
    subject = subjects[fastest.name]
    assert isinstance(subject, Subject)
    row = candidate_row(processes, info, COPY, subject, room)
    if isinstance(row, Row):
        row.original = fastest.name
    return row


def verified(subject: Subject, info: CaseInfo) -> CaseResult:
    """Verify a case. A large case does not draw every distribution of inputs, but small cases do: then verify all small
    cases too, each once per candidate."""
    result = verify(subject, info.case)
    if result.status not in GOOD or (result.status is Status.PASSED and not result.unseen):
        return result
    small = [one.case for one in subject.session.loaded().cases if one.case.small]
    for case in small:
        if case.name not in subject.seen_small:
            subject.seen_small[case.name] = verify(subject, case)
        found = subject.seen_small[case.name]
        if found.status not in GOOD:
            return msgspec.structs.replace(found, case=info.case.name, reason=f"on case {case.name}: {found.reason}")
    return result


def failed_row(info: CaseInfo, name: str, subject: Subject | Implementation) -> Implementation | None:
    """The failed row of a candidate that was not shown to be right on this case; None if it is right."""
    if isinstance(subject, Implementation):
        return subject
    try:
        result = verified(subject, info)
    except ProblemError as error:
        return Implementation(name=name, status=Status.NOT_VERIFIED, reason=str(error)[:400])
    found = imitated(subject, info.case.name) if result.status is Status.PASSED else result
    return None if found is None else Implementation(name=name, status=found.status, reason=found.reason)


def largest(subjects: dict[str, Subject | Implementation], case: str) -> int:
    """Bytes of memory for the plans of a case: those of the largest plan, because the plans share their memory."""
    plans = [one.plans[case] for one in subjects.values() if isinstance(one, Subject) and case in one.plans]
    return max((Layout(plan.buffers).nbytes for plan in plans), default=0)


def with_shares(row: Implementation, subject: Subject | Implementation | None, case: str) -> Implementation:
    """A finished row, with the time shares of library steps if it is a candidate's."""
    if not isinstance(subject, Subject):
        return row
    return msgspec.structs.replace(row, library=library_shares(subject, case, row.name))


def timed_failures(
    info: CaseInfo, subjects: dict[str, Subject | Implementation], finished: list[Implementation]
) -> list[Implementation]:
    """Failed rows of timed candidates: the output of a timed run was wrong, the time is below the stated bound, or it
    is below the derived bound and verifying every case again failed."""
    case, found = info.case.name, []
    for row in finished:
        subject = subjects.get(row.name)
        if not isinstance(subject, Subject):
            continue
        try:
            again = check_timed(subject, case, row.name, place(subject, case, draw=0))
        except ProblemError as error:
            found.append(Implementation(name=row.name, status=Status.NOT_VERIFIED, reason=str(error)[:400]))
            continue
        if again.status is not Status.PASSED:
            found.append(
                Implementation(name=row.name, status=again.status, reason=f"in the timed runs: {again.reason}")
            )
        elif row.median_us is not None and (reason := impossible(info.bound, row.median_us)):
            found.append(Implementation(name=row.name, status=Status.REJECTED, reason=reason))
        elif row.below_bound and (doubt := second_failure(subject)) is not None:
            found.append(Implementation(name=row.name, status=doubt.status, reason=doubt.reason))
    return found


def second_failure(subject: Subject) -> CaseResult | None:
    """The failure when a candidate faster than a derived bound is verified again; None if it passes."""
    cases = [info.case for info in subject.session.loaded().cases]
    try:
        return verified_anew(subject, with_strided(subject.session, cases))
    except Ended as ended:
        if ended.lost:
            raise
        return CaseResult(case="", status=ended.status, reason=ended.reason)
    except ProblemError as error:
        return CaseResult(case="", status=Status.NOT_VERIFIED, reason=str(error)[:400])


def case_report(info: CaseInfo, rows: list[Implementation]) -> BenchCase:
    return BenchCase(
        case=info.case.name,
        held_out=info.case.held_out,
        bound_us=info.bound.bound_us,
        bound_by=info.bound.bound_by,
        bound_kind="stated" if info.bound.bound_by in info.bound.stated else "derived",
        implementations=tuple(rows),
    )
