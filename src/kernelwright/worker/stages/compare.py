"""`bench`: a paired benchmark of candidates and the framework's own implementations (rows), sampled in turn.

A copy of the fastest candidate is sampled too, and not shown: its difference from its original is the noise floor of
the verdicts. Ratios are taken within a round, so that drift of clocks and temperature affects all rows alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

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
from kernelwright.worker.processes.outcome import Ended, Lost, Stopped
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.session import Session
from kernelwright.worker.stages.ahead import compile_ahead, not_begun
from kernelwright.worker.stages.evaluate import GOOD, with_strided
from kernelwright.worker.stages.measure import check_timed, estimate, library_shares
from kernelwright.worker.stages.necessity import imitated
from kernelwright.worker.stages.physical import impossible, verified_anew
from kernelwright.worker.stages.rows import Row, candidate_row, failure, framework_row, try_row
from kernelwright.worker.stages.samples import COPY, sample_case
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import place, verify


def bench(
    session: Session, candidates: dict[str, Candidate], names: tuple[str, ...], framework: tuple[str, ...],
    against: str | None = None,
) -> BenchReport:  # fmt: skip
    """Benchmark every implementation on every named case; on all but the small cases if none is named.

    against: the row that ratios and verdicts refer to; None for the fastest of the framework's own.
    """
    known = {info.case.name: info for info in session.loaded().cases}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ProblemError(f"no case {unknown[0]!r}", f"known: {', '.join(known)}")
    chosen = [known[n] for n in names] if names else [info for info in known.values() if not info.case.small]
    subjects: dict[str, Subject] = {}
    failed: list[Implementation] = []
    for name, candidate in candidates.items():
        try:
            subject = Subject(session, candidate)
            subject.prepare([info.case.name for info in known.values() if info.case.small or info in chosen])
            subjects[name] = subject
        except Ended as ended:
            failed.append(failure(name, ended))
    if session.processes.on_gpu:
        compile_ahead(session, chosen, not_begun(session, chosen, framework))
        cases = [measured(session.processes, info, subjects, framework, against) for info in chosen]
    else:
        cases = [estimated_case(info, subjects) for info in chosen]
    return BenchReport(
        problem=session.loaded().name, environment=session.environment(),
        cases=tuple(msgspec.structs.replace(one, implementations=(*one.implementations, *failed)) for one in cases),
        unqualified=session.report.reason, library=session.loaded().library, dtype=session.loaded().dtype,
    )  # fmt: skip


def estimated_case(info: CaseInfo, subjects: dict[str, Subject]) -> BenchCase:
    """The result of a case without a GPU: a time per candidate, estimated from its resources, and no framework rows."""
    rows, case = [], info.case.name
    for name, subject in subjects.items():
        if case in subject.unplanned:
            rows.append(failure(name, subject.unplanned[case]))
            continue
        timing, result = estimate(subject, case), interpreted(subject, info)
        rows.append(
            msgspec.structs.replace(
                failure(name, result), median_us=timing.median_us, kind="estimate", method=timing.method
            )
        )
    return case_report(info, rows)


def interpreted(subject: Subject, info: CaseInfo) -> CaseResult:
    """The interpreter's result on a case. A failure ends the case for this candidate only."""
    try:
        return subject.processes.twice_if_lost(lambda: verified(subject, info))
    except Stopped as stopped:
        return CaseResult(case=info.case.name, status=stopped.status, reason=stopped.reason)


def measured(
    processes: Processes, info: CaseInfo, subjects: dict[str, Subject], framework: tuple[str, ...], against: str | None
) -> BenchCase:
    """`measured_case`, repeated once if a process was lost. Raises `WorkerError` if one was lost twice."""
    try:
        return processes.twice_if_lost(lambda: measured_case(processes, info, subjects, framework, against))
    except Lost as lost:
        raise WorkerError(f"the benchmark of case {info.case.name} failed twice: {lost.reason}") from lost


def measured_case(
    processes: Processes, info: CaseInfo, subjects: dict[str, Subject], framework: tuple[str, ...], against: str | None
) -> BenchCase:
    """Verify all candidates on one case, then sample all rows in turn.

    The judge needs the reference in float64 (four times the memory of bfloat16, its intermediates too) before the
    framework's rows are prepared, or after they are forgotten: for 3.5 GB of input, 80 GB are too small for both. So
    the candidates get their inputs, which it writes, first.
    """
    case = info.case.name
    with processes.lease:
        processes.drop("bench")
        failed = failures(subjects, lambda name, subject: failed_row(info, name, subject))
        right = {name: one for name, one in subjects.items() if name not in {row.name for row in failed}}
        plans = [one.plans[case] for one in subjects.values() if case in one.plans]  # they share their memory
        room = max((Layout(plan.buffers).nbytes for plan in plans), default=0)
        made: list[Row | Implementation] = []
        for name, subject in right.items():
            made.append(try_row(name, partial(candidate_row, processes, name, subject, case, room)))
        copied = copy_of_fastest(processes, case, rows_of(made), subjects, room)
        if isinstance(copied, Row):
            made.append(copied)
        made += [try_row(name, partial(framework_row, processes, info, name)) for name in framework]
        failed += [one for one in made if not isinstance(one, Row)]
        sampled = sample_case(processes, info, rows_of(made), copied, against)
        finished = {row.name: row if row.name not in subjects else msgspec.structs.replace(
            row, library=library_shares(subjects[row.name], case, row.name)) for row in sampled.finished}  # fmt: skip
        processes.ask_judge(to_judge.Forget())
        timed = {name: subject for name, subject in subjects.items() if name in finished}
        late = failures(timed, lambda name, subject: timed_failure(info, finished[name], subject))
        processes.drop("bench")
    failed += [*sampled.failed, *late]
    for row in late:
        del finished[row.name]
    found = case_report(info, [*sorted(finished.values(), key=lambda row: row.name not in FRAMEWORK), *failed])
    return msgspec.structs.replace(
        found, order_seed=sampled.seed, exchanged_after=sampled.half, noise_floor=sampled.floor.fraction,
        noise_floor_source=sampled.floor.source,
    )  # fmt: skip


def failures(
    subjects: dict[str, Subject], find: Callable[[str, Subject], Implementation | None]
) -> list[Implementation]:  # fmt: skip
    """The failed rows among candidates. find: gives that of one, None if it has not failed."""
    found = [try_row(name, partial(find, name, subject)) for name, subject in subjects.items()]
    return [row for row in found if row is not None]


def rows_of(made: list[Row | Implementation]) -> list[Row]:
    return [one for one in made if isinstance(one, Row)]


def copy_of_fastest(
    processes: Processes, case: str, rows: list[Row], subjects: dict[str, Subject], room: int
) -> Row | Implementation | None:
    """A second row of the candidate that was fastest in its warm-up samples; None if there is no candidate."""
    if not rows:
        return None
    fastest = min(rows, key=lambda row: stats.median(row.steady_us)).name
    found = try_row(COPY, lambda: candidate_row(processes, COPY, subjects[fastest], case, room))
    return replace(found, original=fastest) if isinstance(found, Row) else found


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


def failed_row(info: CaseInfo, name: str, subject: Subject) -> Implementation | None:
    """The failed row of a candidate that was not shown to be right on this case; None if it is right."""
    result = verified(subject, info)
    found = imitated(subject, info.case.name) if result.status is Status.PASSED else result
    return None if found is None else failure(name, found)


def timed_failure(info: CaseInfo, row: Implementation, subject: Subject) -> Implementation | None:
    """The failed row of a timed candidate; None if it has not failed: the output of a timed run was wrong, the time is
    below the stated bound, or it is below the derived bound and verifying every case again failed."""
    case, session = info.case.name, subject.session
    again = check_timed(subject, case, row.name, place(subject, case, draw=0))
    found: CaseResult | None = None
    if again.status is not Status.PASSED:
        found = msgspec.structs.replace(again, reason=f"in the timed runs: {again.reason}")
    elif row.median_us is not None and (reason := impossible(info.bound, row.median_us)):
        found = CaseResult(case=case, status=Status.REJECTED, reason=reason)
    elif row.below_bound:
        found = verified_anew(subject, with_strided(session, [one.case for one in session.loaded().cases]))
    return None if found is None else failure(row.name, found)


def case_report(info: CaseInfo, rows: list[Implementation]) -> BenchCase:
    return BenchCase(
        case=info.case.name, held_out=info.case.held_out, bound_us=info.bound.bound_us, bound_by=info.bound.bound_by,
        bound_kind="stated" if info.bound.bound_by in info.bound.stated else "derived", implementations=tuple(rows),
    )  # fmt: skip
