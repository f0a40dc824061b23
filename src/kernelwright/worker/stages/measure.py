"""How long does a verified candidate take? Measured on a GPU, otherwise estimated from the compiler's resources."""

from __future__ import annotations

import statistics
from collections import Counter

import msgspec

from kernelwright import codec, roofline, stats
from kernelwright.model import Candidate, CaseResult, Clocks, Incumbent, LibraryShare, Status, Timing, clocks_over
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.bench.race import BEHIND, KNOWN, LOST, MOST
from kernelwright.worker.judge.messages import Check
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.operators import short
from kernelwright.worker.plan.plan import AGAIN
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.stages.physical import below_bound, impossible
from kernelwright.worker.stages.rows import described
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import STALE, check, place

HOPELESS = 1.5
"""A kernel this much slower than the best so far is not measured to precision."""

TOO_SLOW = f"over {HOPELESS} times the best so far"

LET_GO = (TOO_SLOW, LOST, BEHIND)
"""Stop reasons that mean the candidate lost its race; no further checks are run."""

MORE_SAMPLES, MAX_SAMPLES = 10, 124
MOST_ROUNDS = 60
"""Of a race before places are exchanged, each two samples of both."""

RACE_US = 20_000_000.0
"""What a race may take of `Limits.prepare_s`, a third of it: the request ends the candidate where it takes longer."""

REPLAYS_PER_ROUND = 16
"""Two samples of both, each after an untimed replay, and as many once places are exchanged."""

SAVING = 1.2
"""A call that takes this many times as long on newly allocated memory reuses results of earlier calls. Cold caches
and clocks are the same for both, so honest kernels differ by their noise, some percent."""

COLD_US = 0.5
"""How much more a call may take on new memory. Twenty softmax kernels took 1.46 to 1.48 µs for a 1x3 matrix on it,
and 1.14 on what was left, on an H200, where nothing could be kept."""

KEY = "candidate"
"""What the bench calls the plan that a search measures."""


def measure(subject: Subject, result: CaseResult, incumbent: Incumbent | None) -> CaseResult:
    """Measured device time of a verified case. Unless it lost a race, what the timed runs left is checked, too.

    incumbent: None for a candidate that is timed alone; then it cannot lose.
    """
    case = result.case
    if incumbent is not None and (case not in incumbent.times_us or incumbent.candidate == subject.candidate):
        incumbent = None
    with subject.leased("time"):
        try:
            rival = prepared_rival(subject, case, incumbent)
            message = place(subject, case, draw=0)
            timing = _timing(subject, case, incumbent, rival)
            again = result if _is_lost(timing) else check_timed(subject, case, KEY, message)
            judged = _judged(subject, result, timing, again)
            if judged.status is Status.PASSED and not _is_lost(timing):
                judged = msgspec.structs.replace(judged, library=library_shares(subject, case, KEY))
            _settle(subject, judged)
        except Ended as ended:
            if ended.lost:
                raise
            return CaseResult(case=case, status=ended.status, reason=ended.reason)
    return judged


def library_shares(subject: Subject, case: str, key: str | None = None) -> tuple[LibraryShare, ...]:
    """The library steps of a case by operator. key: what the bench calls the prepared plan; None: nothing is timed.

    A share is that of the time of all parts, each timed alone: parts that overlap in a call make no difference to it.
    """
    calls = Counter(short(call.operator) for call in subject.plans[case].library_calls)
    if not calls:
        return ()
    parts_us: dict[str, float] = {} if key is None else subject.processes.ask_bench(to_bench.Parts(key=key))
    total_us = sum(parts_us.values())
    return tuple(
        LibraryShare(operator=name, calls=count, share=parts_us[name] / total_us if total_us else None)
        for name, count in calls.items()
    )


def _is_lost(timing: Timing) -> bool:
    """Surely slower than the incumbent on this case: a trick that only the timed runs show has gained nothing here.
    What is chosen in the end is timed again alone, and then always checked."""
    return timing.stopped in LET_GO


def _judged(subject: Subject, result: CaseResult, timing: Timing, again: CaseResult) -> CaseResult:
    """The timed case, unless its timed runs left something wrong or it took less time than the stated work allows."""
    if again.status is not Status.PASSED:
        return msgspec.structs.replace(again, reason=f"in the timed runs: {again.reason}")
    least = next(info.bound for info in subject.session.loaded().cases if info.case.name == result.case)
    if reason := impossible(least, timing.clock_us):
        return CaseResult(case=result.case, status=Status.REJECTED, reason=reason, timing=timing)
    return msgspec.structs.replace(result, timing=timing, below_bound=below_bound(least, timing.clock_us))


def check_timed(subject: Subject, case: str, key: str, message: Check) -> CaseResult:
    """The judge's word on what the timed code itself leaves behind: run once more on fresh memory, and then, a part of
    the inputs changed, on memory worn by many calls, so that no note of earlier ones can have saved work. Where both
    are right, whether a call takes as long without what earlier ones left."""
    nbytes = Layout(subject.plans[case].buffers).nbytes
    subject.processes.ask_bench(to_bench.Recall(key=key, nbytes=nbytes, how="timed"))
    result = check(subject, message)
    if result.status is not Status.PASSED:
        return result
    subject.processes.ask_bench(to_bench.Recall(key=key, nbytes=nbytes, how="worn"))
    message = place(subject, case, AGAIN, fresh=False)
    subject.processes.ask_bench(to_bench.Recall(key=key, nbytes=nbytes, how="once"))
    again = check(subject, message)
    if again.status is not Status.PASSED:
        return msgspec.structs.replace(again, reason=f"{STALE}: {again.reason}")
    saving = saved_between_calls(subject, case, key)
    return CaseResult(case=case, status=Status.REJECTED, reason=saving) if saving else result


def saved_between_calls(subject: Subject, case: str, key: str) -> str:
    """Why the timed calls are not what a call takes, "" where they are.

    In use, memory holds what others left there. A kernel that keeps notes, or finds its own output of the last call,
    may be right and still do less in a timed loop than anywhere else: its time has to be the same without them.
    Asked twice before a kernel is blamed.
    """
    nbytes = Layout(subject.plans[case].buffers).nbytes
    for worn in (True, False):  # the first time by what came before
        place(subject, case, draw=0)
        found = subject.processes.ask_bench(to_bench.Forgetting(key=key, nbytes=nbytes, wear=not worn))
        # the mean, because a kernel may work in some calls only; a disturbed sample raises it and refuses nothing
        as_left_us, anew_us = statistics.fmean(found["as_left_us"]), stats.median(found["anew_us"])
        if anew_us <= SAVING * as_left_us + COLD_US:
            return ""
    return (f"a call takes {anew_us:.4g} µs on newly allocated memory and {as_left_us:.4g} µs on what earlier calls "
            "left there: it saves work between calls")  # fmt: skip


def prepared_rival(subject: Subject, case: str, incumbent: Incumbent | None) -> str | None:
    """What the bench calls the incumbent's plan, which is prepared there; None where there is nothing to race against.

    A bench that does not have it (a new process, a resumed run) gets it again: the incumbent is recorded once more, and
    its machine code is mostly known. Every other plan of the case is forgotten.
    """
    processes, nbytes = subject.processes, Layout(subject.plans[case].buffers).nbytes
    name = "" if incumbent is None else bench_name(incumbent.candidate, case)
    is_there = processes.ask_bench(to_bench.Keep(case=case, key=name, nbytes=nbytes))
    if incumbent is None:
        return None
    if is_there:
        return name
    rival = Subject(subject.session, incumbent.candidate)
    try:
        rival.prepare([case])
        if case not in rival.plans:
            return None
        place(rival, case, draw=0)
        sent = rival.replayable(rival.plans[case])
        prepare = to_bench.Prepare(key=name, case=case, plan=sent.name, room=nbytes, restored=subject.restored(case))
        processes.ask_bench(prepare, plan=sent)
    except Ended as ended:
        if ended.lost:
            raise
        return None
    return name


def bench_name(candidate: Candidate, case: str) -> str:
    """What the bench calls a candidate's plan of a case once it was measured."""
    return f"{case} by {candidate.id}"


def _timing(subject: Subject, case: str, incumbent: Incumbent | None, rival: str | None) -> Timing:
    """rival: the incumbent's plan on the bench. What was timed beside it is scaled to the incumbent's time in the
    request, so that the clock of this GPU at this moment is in no comparison between candidates."""
    processes = subject.processes
    clocks: Clocks | None = None
    sent = subject.replayable(subject.plans[case])
    prepare = to_bench.Prepare(key=KEY, case=case, plan=sent.name, restored=subject.restored(case))
    prepared = processes.ask_bench(prepare, plan=sent)
    samples: list[float] = prepared["steady_us"]
    theirs_us: list[float] = []
    if rival is not None:
        theirs_us = processes.ask_bench(to_bench.Sample(key=rival, count=len(samples)))
    gained = None if incumbent is None else False
    if incumbent is not None and stats.median(samples) > HOPELESS * stats.median(
        theirs_us or [incumbent.times_us[case]]
    ):
        stopped = TOO_SLOW
    elif rival is not None:
        most = rounds_within(RACE_US, stats.median(samples) * prepared["sets"])
        before = clocks_now(processes, KEY)
        raced = processes.ask_bench(to_bench.Race(key=KEY, against=rival, most=most))
        clocks = clocks_over([before, clocks_now(processes, KEY)])
        samples, theirs_us, stopped, gained = (raced[what] for what in ("ours_us", "theirs_us", "stopped", "gained"))
    else:
        stopped, clocks = _sample_alone(subject, samples)
        if clocks is not None and clocks.is_forced:  # once more: it may have passed
            samples = []
            stopped, clocks = _sample_alone(subject, samples)
    call_us, issue_us = (None, None) if stopped in LET_GO else processes.ask_bench(to_bench.Call(key=KEY))
    scale = incumbent.times_us[case] / stats.median(theirs_us) if incumbent is not None and theirs_us else 1.0
    scaled_us = [scale * sample_us for sample_us in samples]
    return Timing(
        kind="measured", median_us=stats.median(scaled_us), ci95_us=stats.median_ci(scaled_us),
        samples_us=tuple(scaled_us), call_us=call_us, issue_us=issue_us, stopped=stopped,
        method=described(prepared), clocks=clocks, scale=scale, gained=gained,
    )  # fmt: skip


def clocks_now(processes: Processes, key: str | None) -> Clocks | None:
    """What NVML reads while a prepared plan runs (None: whatever runs); None without NVML, and where the plan fails."""
    try:
        found = processes.ask_bench(to_bench.Clocks(key=key))
    except Ended as ended:
        if ended.lost:
            raise
        return None
    return codec.record(found, Clocks) if found else None


def rounds_within(race_us: float, rotation_us: float) -> int:
    """Rounds of a race that takes about race_us, MOST_ROUNDS at most. rotation_us: one call of each copy, which is the
    least that a replay takes."""
    return max(stats.MIN_PAIRS, min(MOST_ROUNDS, int(race_us / (REPLAYS_PER_ROUND * max(rotation_us, 1.0)))))


def _sample_alone(subject: Subject, samples: list[float]) -> tuple[str, Clocks | None]:
    """Add samples until their median is known precisely; returns why that ended, and the clocks meanwhile."""
    before, stopped = clocks_now(subject.processes, KEY), MOST
    while len(samples) < MAX_SAMPLES:
        samples += subject.processes.ask_bench(to_bench.Sample(key=KEY, count=MORE_SAMPLES))
        low, high = stats.median_ci(samples)
        if high - low <= stats.PRECISE * stats.median(samples):
            stopped = KNOWN
            break
    return stopped, clocks_over([before, clocks_now(subject.processes, KEY)])


def _settle(subject: Subject, judged: CaseResult) -> None:
    """Keep the plan of a candidate that may be the next incumbent, until the next measurement of the case."""
    if judged.status is Status.PASSED and judged.timing is not None and not _is_lost(judged.timing):
        name = bench_name(subject.candidate, judged.case)
        subject.processes.ask_bench(to_bench.Rename(key=KEY, name=name))
    else:
        subject.processes.ask_bench(to_bench.Forget(key=KEY))


def estimate(subject: Subject, case: str) -> Timing:
    """A guess at a recorded and compiled case's time; nothing ran."""
    processes = subject.processes
    least = next(info.bound for info in subject.session.loaded().cases if info.case.name == case)
    bandwidth_bytes_per_s = processes.peaks()[0]["copy_bytes_per_s"]
    us = roofline.estimate_us(least, subject.launches(subject.plans[case]), processes.target, bandwidth_bytes_per_s)
    return Timing(kind="estimate", median_us=us, method="roofline.estimate_us")
