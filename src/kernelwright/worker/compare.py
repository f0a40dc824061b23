"""`bench`: the framework's own implementations and the candidates, sampled in turn, paired round by round.

Each round samples every implementation once, forwards and then backwards (ABC CBA), so that drift of clocks and
temperature falls on all alike; ratios are taken within a round.
"""

from __future__ import annotations

from kernelwright import codec, stats
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import BenchCase, BenchReport, Candidate, CaseInfo, Clocks, Implementation, Status
from kernelwright.worker.layout import Layout
from kernelwright.worker.measure import PHYSICAL, check_timed, estimate
from kernelwright.worker.outcome import Ended
from kernelwright.worker.rows import Row, candidate_row, framework_row, noise_floor, sample_rounds
from kernelwright.worker.site import Site
from kernelwright.worker.subject import Subject
from kernelwright.worker.verify import place, verify

FRAMEWORK = ("eager", "compile", "compile_max_autotune")


def bench(
    site: Site,
    candidates: dict[str, Candidate],
    names: tuple[str, ...],
    framework: tuple[str, ...],
    against: str | None = None,
) -> BenchReport:
    """Every implementation on every named case (all but the small ones where none is named).

    against: the row that ratios and verdicts refer to; the fastest of the framework's own where None.
    """
    known = {info.case.name: info for info in site.loaded().cases}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ProblemError(f"no case {unknown[0]!r}", f"known: {', '.join(known)}")
    chosen = [known[n] for n in names] if names else [info for info in known.values() if not info.case.small]
    subjects: dict[str, Subject | Implementation] = {}
    for name, candidate in candidates.items():
        try:
            subject = Subject(site, candidate)
            subject.prepare([info.case.name for info in chosen])
            subjects[name] = subject
        except Ended as ended:
            subjects[name] = Implementation(name=name, status=ended.status, reason=ended.reason)
    if site.on_gpu:
        cases = tuple(measured_case(site, info, subjects, framework, against) for info in chosen)
    else:
        cases = tuple(estimated_case(info, subjects) for info in chosen)
    return BenchReport(
        problem=site.loaded().name, environment=site.environment(), cases=cases, unqualified=site.unqualified
    )


def estimated_case(info: CaseInfo, subjects: dict[str, Subject | Implementation]) -> BenchCase:
    """Without a GPU: an estimate per candidate from its resources, and no rows of the framework."""
    rows = []
    for name, subject in subjects.items():
        if isinstance(subject, Implementation):
            rows.append(subject)
            continue
        failed = subject.unplanned.get(info.case.name)
        if failed is not None:
            rows.append(Implementation(name=name, status=failed.status, reason=failed.reason))
            continue
        timing, result = estimate(subject, info.case.name), verify(subject, info.case)
        rows.append(
            Implementation(
                name=name,
                status=result.status,
                reason=result.reason,
                median_us=timing.median_us,
                kind="estimate",
                method=timing.method,
                fraction_of_bound=info.bound.bound_us / timing.median_us,
            )
        )
    return framed(info, rows)


def measured_case(
    site: Site,
    info: CaseInfo,
    subjects: dict[str, Subject | Implementation],
    framework: tuple[str, ...],
    against: str | None,
) -> BenchCase:
    """Verify, then sample everything in turn, on one case.

    Whatever needs the reference in float64 (four times the memory of bfloat16, and its intermediates as much) comes
    before the framework's rows are prepared or after they are forgotten: 80 GB do not hold both for 3.5 GB of input.
    """
    case = info.case.name
    rows: list[Row] = []
    with site.lease:
        site.drop("bench")
        failed = [row for name, one in subjects.items() if (row := unverified(info, name, one)) is not None]
        bad = {row.name for row in failed}
        for name in framework:
            try:
                rows.append(framework_row(site, case, name))
            except (ProblemError, WorkerError) as error:
                failed.append(Implementation(name=name, status=Status.RUNTIME_ERROR, reason=str(error)[:400]))
        room = largest(subjects, case)
        for name, subject in subjects.items():
            if name in bad or isinstance(subject, Implementation):
                continue
            outcome = candidate_row(site, info, name, subject, room)
            if isinstance(outcome, Row):
                rows.append(outcome)
            else:
                failed.append(outcome)
        sample_rounds(rows)
        clocks = site.ask_bench({"verb": "clocks"})
        reference = referred(rows, against)
        observed = codec.record(clocks, Clocks) if clocks else None
        finished = [concluded(info, row, reference, observed) for row in rows]
        site.ask_judge({"verb": "forget"})
        failed += spoilt(subjects, case, finished)
        site.drop("bench")
    bad = {row.name for row in failed}
    return framed(info, [*(row for row in finished if row.name not in bad), *failed])


def unverified(info: CaseInfo, name: str, subject: Subject | Implementation) -> Implementation | None:
    """Why a candidate is not right on this case, or was not shown to be; None where it is."""
    if isinstance(subject, Implementation):
        return subject
    try:
        result = verify(subject, info.case)
    except ProblemError as error:
        return Implementation(name=name, status=Status.NOT_VERIFIED, reason=str(error)[:400])
    if result.status is Status.PASSED:
        return None
    return Implementation(name=name, status=result.status, reason=result.reason)


def largest(subjects: dict[str, Subject | Implementation], case: str) -> int:
    """Bytes that the plans of a case need, which share their memory: as much as the largest."""
    plans = [one.plans[case] for one in subjects.values() if isinstance(one, Subject) and case in one.plans]
    return max((Layout(plan.buffers).nbytes for plan in plans), default=0)


def referred(rows: list[Row], against: str | None) -> Row | None:
    """The row that ratios refer to: the named one, or the fastest of the framework's own."""
    own = [row for row in rows if (row.name in FRAMEWORK if against is None else row.name == against)]
    return min(own, key=lambda row: stats.median(row.rounds_us), default=None)


def concluded(info: CaseInfo, row: Row, reference: Row | None, clocks: Clocks | None) -> Implementation:
    """A sampled row as an implementation, with its ratio to the reference."""
    middle = stats.median(row.rounds_us)
    call_us, issue_us = row.call()
    speedup, interval, verdict = None, None, None
    if reference is not None:
        speedup, interval = stats.paired_log_ratio_ci(reference.rounds_us, row.rounds_us)
        if row.name not in FRAMEWORK and row is not reference:
            verdict = stats.verdict(interval, max(noise_floor(reference), noise_floor(row)))
    return Implementation(
        name=row.name,
        status=Status.PASSED,
        median_us=middle,
        ci95_us=stats.bootstrap_ci(row.rounds_us, stats.median),
        call_us=call_us,
        issue_us=issue_us,
        warm_us=row.warm(),
        speedup=speedup,
        speedup_ci95=interval,
        verdict=verdict,
        fraction_of_bound=info.bound.bound_us / middle,
        samples_us=tuple(row.rounds_us),
        method=row.method,
        clocks=clocks,
    )


def spoilt(
    subjects: dict[str, Subject | Implementation], case: str, finished: list[Implementation]
) -> list[Implementation]:
    """Candidates whose timed runs left a wrong output, or that beat the physical bound."""
    found = []
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
        elif row.fraction_of_bound is not None and row.fraction_of_bound > 1 / PHYSICAL:
            reason = f"{row.median_us:.4g} µs is less than any kernel can take; a fault or a trick, not a record"
            found.append(Implementation(name=row.name, status=Status.REJECTED, reason=reason))
    return found


def framed(info: CaseInfo, rows: list[Implementation]) -> BenchCase:
    return BenchCase(
        case=info.case.name,
        held_out=info.case.held_out,
        bound_us=info.bound.bound_us,
        bound_by=info.bound.bound_by,
        implementations=tuple(rows),
    )
