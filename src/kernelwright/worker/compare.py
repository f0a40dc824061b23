"""`bench`: the framework's own implementations and the candidates, sampled in turn, paired round by round.

Each round samples every implementation once, forwards and then backwards (ABC CBA), so that drift of clocks and
temperature falls on all alike; ratios are taken within a round. The noise floor is the same framework
implementation sampled twice a round against itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kernelwright import codec, stats
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import BenchCase, BenchReport, Candidate, CaseInfo, Clocks, Implementation, Status
from kernelwright.worker.measure import estimate
from kernelwright.worker.outcome import Ended
from kernelwright.worker.site import Site
from kernelwright.worker.subject import Subject
from kernelwright.worker.verify import place, verify

FRAMEWORK = ("eager", "compile", "compile_max_autotune")
MIN_ROUNDS, MAX_ROUNDS = 12, 60
ROUND_US = 20_000_000.0
"""Sampling of one case stops after about this much device time."""

PRECISE = 0.005
"""Enough rounds when every interval of a ratio is narrower than this fraction."""


@dataclass
class Row:
    """One implementation while it is being sampled. rounds_us: the mean of a round's two samples."""

    name: str
    sample: Callable[[], float]
    call: Callable[[], float]
    method: str
    rounds_us: list[float] = field(default_factory=list)
    again_us: list[float] = field(default_factory=list)


def bench(
    site: Site, candidates: dict[str, Candidate], names: tuple[str, ...], framework: tuple[str, ...]
) -> BenchReport:
    """Every implementation on every named case (all but the small ones where none is named)."""
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
    one = measured_case if site.on_gpu else estimated_case
    cases = tuple(one(site, info, subjects, framework) for info in chosen)
    return BenchReport(problem=site.loaded().name, environment=site.environment(), cases=cases)


def estimated_case(
    site: Site, info: CaseInfo, subjects: dict[str, Subject | Implementation], framework: tuple[str, ...]
) -> BenchCase:
    """Without a GPU: an estimate per candidate from its resources, no values compared, no framework rows."""
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
        rows.append(Implementation(
            name=name, status=result.status, reason=result.reason, median_us=timing.median_us, kind="estimate",
            method=timing.method, fraction_of_bound=info.bound.bound_us / timing.median_us))  # fmt: skip
    return framed(info, rows)


def measured_case(
    site: Site, info: CaseInfo, subjects: dict[str, Subject | Implementation], framework: tuple[str, ...]
) -> BenchCase:
    """Verify, then sample everything in turn, on one case."""
    case = info.case.name
    rows: list[Row] = []
    failed: list[Implementation] = []
    with site.lease:
        site.drop("bench")
        for name in framework:
            try:
                rows.append(framework_row(site, case, name))
            except (ProblemError, WorkerError) as error:
                failed.append(Implementation(name=name, status=Status.RUNTIME_ERROR, reason=str(error)[:400]))
        for name, subject in subjects.items():
            outcome = subject if isinstance(subject, Implementation) else candidate_row(site, info, name, subject)
            if isinstance(outcome, Row):
                rows.append(outcome)
            else:
                failed.append(outcome)
        if rows:
            sample_rounds(rows)
        clocks = site.ask_bench({"verb": "clocks"})
        finished = concluded(info, rows, codec.record(clocks, Clocks) if clocks else None)
        site.ask_judge({"verb": "forget"})
        site.drop("bench")
    return framed(info, [*finished, *failed])


def framework_row(site: Site, case: str, name: str) -> Row:
    message = {"case": case, "name": name}
    prepared = site.ask_judge({"verb": "prepare"} | message, site.limits.baseline_s)
    return Row(name=name, method=prepared["method"],
               sample=lambda: float(site.ask_judge({"verb": "sample"} | message)),
               call=lambda: float(site.ask_judge({"verb": "call"} | message)[0]))  # fmt: skip


def candidate_row(site: Site, info: CaseInfo, name: str, subject: Subject) -> Row | Implementation:
    """A verified candidate ready to be sampled, or why it is not."""
    result = verify(subject, info.case)
    if result.status is not Status.PASSED:
        return Implementation(name=name, status=result.status, reason=result.reason)
    try:
        place(subject, info.case.name, draw=0)
        plan = codec.plain(subject.plans[info.case.name])
        prepared = site.ask_bench({"verb": "prepare", "key": name, "kernels": subject.kernels_path, "plan": plan})
    except Ended as ended:
        return Implementation(name=name, status=ended.status, reason=ended.reason)
    return Row(
        name=name,
        method=prepared["method"],
        sample=lambda: float(site.ask_bench({"verb": "sample", "key": name, "count": 1})[0]),
        call=lambda: float(site.ask_bench({"verb": "call", "key": name})[0]),
    )


def sample_rounds(rows: list[Row]) -> None:
    """Sample until every ratio to the first row is known precisely, or time is up."""
    spent_us = 0.0
    for count in range(1, MAX_ROUNDS + 1):
        forwards = [row.sample() for row in rows]
        backwards = [row.sample() for row in reversed(rows)][::-1]
        for row, there, back in zip(rows, forwards, backwards, strict=True):
            row.rounds_us.append((there + back) / 2)
            row.again_us.append(there / back)
        spent_us += 2 * sum(max(s, 1000.0) for s in forwards)
        if count >= MIN_ROUNDS and (spent_us > ROUND_US or all(narrow(rows[0], row) for row in rows)):
            return


def narrow(first: Row, row: Row) -> bool:
    _, (low, high) = stats.paired_log_ratio_ci(first.rounds_us, row.rounds_us)
    return high - low <= PRECISE * high


def noise_floor(row: Row) -> float:
    """How far the interval of an implementation against itself, within rounds, reaches from 1."""
    low, high = stats.bootstrap_ci(row.again_us, stats.median)
    return max(abs(low - 1), abs(high - 1))


def concluded(info: CaseInfo, rows: list[Row], clocks: Clocks | None) -> list[Implementation]:
    """Rows as implementations, each against the fastest of the framework's own."""
    own = [row for row in rows if row.name in FRAMEWORK]
    best = min(own, key=lambda row: stats.median(row.rounds_us), default=None)
    found = []
    for row in rows:
        middle = stats.median(row.rounds_us)
        speedup, interval, verdict = None, None, None
        if best is not None:
            speedup, interval = stats.paired_log_ratio_ci(best.rounds_us, row.rounds_us)
            if row not in own:
                verdict = stats.verdict(interval, max(noise_floor(best), noise_floor(row)))
        found.append(Implementation(
            name=row.name, status=Status.PASSED, median_us=middle, call_us=row.call(),
            ci95_us=stats.bootstrap_ci(row.rounds_us, stats.median), speedup=speedup, speedup_ci95=interval,
            verdict=verdict, fraction_of_bound=info.bound.bound_us / middle, samples_us=tuple(row.rounds_us),
            method=f"CUDA {row.method} over rotating input sets, cold cache", clocks=clocks))  # fmt: skip
    return found


def framed(info: CaseInfo, rows: list[Implementation]) -> BenchCase:
    return BenchCase(case=info.case.name, held_out=info.case.held_out, bound_us=info.bound.bound_us,
                     bound_by=info.bound.bound_by, implementations=tuple(rows))  # fmt: skip
