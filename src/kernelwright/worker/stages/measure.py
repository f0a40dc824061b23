"""Device time of a verified candidate: measured on a GPU, otherwise estimated from the compiler's resources."""

from __future__ import annotations

import statistics
from collections import Counter

import msgspec

from kernelwright import roofline, stats
from kernelwright.model import Candidate, CaseResult, Clocks, Incumbent, LibraryShare, Status, Timing, clocks_over
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.bench.race import BEHIND, KNOWN, LOST, MOST
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.clock.messages import Call, Sample
from kernelwright.worker.judge.messages import Check
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.operators import short
from kernelwright.worker.plan.plan import AGAIN
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.stages.physical import below_bound, impossible
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import STALE, place

HOPELESS = 1.5
"""A kernel slower than the best so far by this factor is not measured precisely."""

TOO_SLOW = f"over {HOPELESS} times the best so far"

LET_GO = (TOO_SLOW, LOST, BEHIND)
"""Stop reasons that mean the candidate lost its race; no further checks are run."""

MORE_SAMPLES, MAX_SAMPLES = 10, 124
MOST_ROUNDS = 60
"""Maximum number of rounds of a race before places are exchanged. A round takes two samples of both candidates."""

RACE_US = 20_000_000.0
"""Maximum device time of a race: a third of `Limits.prepare_s`, after which the request would end the candidate."""

REPLAYS_PER_ROUND = 16
"""Replays per round: two samples of both candidates, each after an untimed replay, and the same after the exchange."""

SAVING = 1.2
"""A call that takes longer by this factor on newly initialised memory reuses results of earlier calls. Caches are cold
and clocks the same in both measurements, so honest kernels differ by their noise, a few percent."""

COLD_US = 0.5
"""Additional time that a call may take on newly initialised memory. On an H200, twenty softmax kernels of a 1x3 matrix
took 1.46 to 1.48 µs on new memory and 1.14 µs on used memory, although they could reuse nothing."""

KEY = "candidate"
"""Name on the bench of the plan that is being measured."""


def measure(subject: Subject, result: CaseResult, incumbent: Incumbent | None) -> CaseResult:
    """Measure the device time of a verified case. The outputs of the timed runs are checked too, unless the candidate
    lost its race.

    incumbent: the candidate to race against; None to time this one alone.
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
            return CaseResult(case=case, status=ended.status, reason=ended.reason)
    return judged


def library_shares(subject: Subject, case: str, key: str | None = None) -> tuple[LibraryShare, ...]:
    """The library steps of a case by operator. key: name of the prepared plan on the bench; None to time nothing.

    A share is the time of one operator's steps over the sum of all parts. Each part is timed alone, so that overlap
    within a call does not matter.
    """
    calls = Counter(short(call.operator) for call in subject.plans[case].library_calls)
    if not calls:
        return ()
    parts_us = {} if key is None else subject.processes.ask_bench(to_bench.Parts(key=key))
    total_us = sum(parts_us.values())
    return tuple(
        LibraryShare(operator=name, calls=count, share=parts_us[name] / total_us if total_us else None)
        for name, count in calls.items()
    )


def _is_lost(timing: Timing) -> bool:
    """Whether the candidate is surely slower than the incumbent on this case. Its timed runs need no check: a trick in
    them gained nothing. The final choice of a run is timed again alone, and then always checked."""
    return timing.stopped in LET_GO


def _judged(subject: Subject, result: CaseResult, timing: Timing, again: CaseResult) -> CaseResult:
    """The timed case, or a failure if the timed runs left a wrong output or took less time than the stated bound."""
    if again.status is not Status.PASSED:
        return msgspec.structs.replace(again, reason=f"in the timed runs: {again.reason}")
    least = subject.info(result.case).bound
    if reason := impossible(least, timing.clock_us):
        return CaseResult(case=result.case, status=Status.REJECTED, reason=reason, timing=timing)
    return msgspec.structs.replace(result, timing=timing, below_bound=below_bound(least, timing.clock_us))


def check_timed(subject: Subject, case: str, key: str, message: Check) -> CaseResult:
    """Have the judge check the outputs of the captured code that was timed: after a replay on fresh memory, and, with a
    part of the inputs changed, after a call on memory that many calls used, so that a kernel that kept results of
    earlier calls is wrong. If both are right, reject a candidate whose calls are slower without such memory."""
    nbytes = Layout(subject.plans[case].buffers).nbytes
    subject.processes.ask_bench(to_bench.Recall(key=key, nbytes=nbytes, how="timed"))
    result = subject.processes.ask_judge(message)
    if result.status is not Status.PASSED:
        return result
    subject.processes.ask_bench(to_bench.Recall(key=key, nbytes=nbytes, how="worn"))
    message = place(subject, case, AGAIN, fresh=False)
    subject.processes.ask_bench(to_bench.Recall(key=key, nbytes=nbytes, how="once"))
    again = subject.processes.ask_judge(message)
    if again.status is not Status.PASSED:
        return msgspec.structs.replace(again, reason=f"{STALE}: {again.reason}")
    saving = saved_between_calls(subject, case, key)
    return CaseResult(case=case, status=Status.REJECTED, reason=saving) if saving else result


def saved_between_calls(subject: Subject, case: str, key: str) -> str:
    """Why the timed calls saved work, "" if they did not.

    In a program, other operators overwrite memory between two calls. A kernel that keeps a flag in scratch memory, or
    recognises its own last output, may be right and still do less work in a timed loop. So its time must be the same on
    newly initialised memory. It is measured twice before a kernel is rejected.
    """
    nbytes = Layout(subject.plans[case].buffers).nbytes
    for worn in (True, False):  # True: `check_timed` has just run the many calls
        place(subject, case, draw=0)
        left, anew = subject.processes.ask_bench(to_bench.Forgetting(key=key, nbytes=nbytes, wear=not worn))
        # The mean, because a kernel may skip work in some calls only. A disturbed sample raises it: no false rejection.
        as_left_us, anew_us = statistics.fmean(left), stats.median(anew)
        if anew_us <= SAVING * as_left_us + COLD_US:
            return ""
    return (f"a call takes {anew_us:.4g} µs on newly initialised memory and {as_left_us:.4g} µs on memory that earlier "
            "calls used: it reuses results of earlier calls, compute everything in each call")  # fmt: skip


def prepared_rival(subject: Subject, case: str, incumbent: Incumbent | None) -> str | None:
    """Prepare the incumbent's plan on the bench and return its name there; None if there is no incumbent to race.

    A bench without the plan (a new process, a resumed run) gets it again: the incumbent is recorded once more; its
    machine code is usually cached. The bench forgets every other plan of the case.
    """
    processes, nbytes = subject.processes, Layout(subject.plans[case].buffers).nbytes
    name = "" if incumbent is None else bench_name(incumbent.candidate, case)
    is_there = processes.ask_bench(to_bench.Keep(case=case, key=name, nbytes=nbytes))
    if incumbent is None:
        return None
    if is_there:
        return name
    try:
        rival = Subject(subject.session, incumbent.candidate)
        rival.prepare([case])
        if case not in rival.plans:
            return None
        place(rival, case, draw=0)
        prepare(rival, case, name, room=nbytes)
    except Ended:
        return None
    return name


def prepare(subject: Subject, case: str, key: str, room: int = 0) -> Captured:
    """Prepare a placed plan for timing. key: its name on the bench. room: bytes of memory for it, where it shares its
    memory with larger plans."""
    sent, info = subject.replayable(subject.plans[case]), subject.info(case)
    message = to_bench.Prepare(
        key=key, case=case, plan=sent.name, room=room, restored=info.restored, least_bytes=info.bound.bytes
    )
    return subject.processes.ask_bench(message, plan=sent)


def bench_name(candidate: Candidate, case: str) -> str:
    """Name on the bench of a measured candidate's plan of a case."""
    return f"{case} by {candidate.id}"


def _timing(subject: Subject, case: str, incumbent: Incumbent | None, rival: str | None) -> Timing:
    """Measure the candidate, in a race if there is a rival. rival: name of the incumbent's plan on the bench.

    Times of a race are scaled by the incumbent's time in the request over its time now, so that the present clock rate
    of this GPU does not affect comparisons between candidates.
    """
    processes = subject.processes
    clocks: Clocks | None = None
    prepared = prepare(subject, case, KEY)
    samples = prepared.steady_us
    theirs_us: list[float] = []
    if rival is not None:
        theirs_us = processes.ask_bench(Sample(key=rival, count=len(samples)))
    gained = None if incumbent is None else False
    if incumbent is not None and stats.median(samples) > HOPELESS * stats.median(
        theirs_us or [incumbent.times_us[case]]
    ):
        stopped = TOO_SLOW
    elif rival is not None:
        most = rounds_within(RACE_US, stats.median(samples) * prepared.sets)
        before = clocks_now(processes, KEY)
        raced = processes.ask_bench(to_bench.Race(key=KEY, against=rival, most=most))
        clocks = clocks_over([before, clocks_now(processes, KEY)])
        samples, theirs_us, stopped, gained = raced.ours_us, raced.theirs_us, raced.stopped, raced.gained
    else:
        stopped, clocks = _sample_alone(subject, samples)
        if clocks is not None and clocks.is_forced:  # sample again: the forced slowdown may be over
            samples = []
            stopped, clocks = _sample_alone(subject, samples)
    call_us, issue_us = (None, None) if stopped in LET_GO else processes.ask_bench(Call(key=KEY))
    scale = incumbent.times_us[case] / stats.median(theirs_us) if incumbent is not None and theirs_us else 1.0
    scaled_us = [scale * sample_us for sample_us in samples]
    return Timing(
        kind="measured", median_us=stats.median(scaled_us), ci95_us=stats.median_ci(scaled_us),
        samples_us=tuple(scaled_us), call_us=call_us, issue_us=issue_us, stopped=stopped,
        method=str(prepared), clocks=clocks, scale=scale, gained=gained,
    )  # fmt: skip


def clocks_now(processes: Processes, key: str | None) -> Clocks | None:
    """NVML's readings while a prepared plan runs; None without NVML, or if the plan fails. key: name of the plan on the
    bench; None to read without running one."""
    try:
        return processes.ask_bench(to_bench.Clocks(key=key))
    except Ended:
        return None


def rounds_within(race_us: float, rotation_us: float) -> int:
    """Number of rounds of a race of about race_us, at most MOST_ROUNDS. rotation_us: one call on each copy, which is
    the shortest replay."""
    return max(stats.MIN_PAIRS, min(MOST_ROUNDS, int(race_us / (REPLAYS_PER_ROUND * max(rotation_us, 1.0)))))


def _sample_alone(subject: Subject, samples: list[float]) -> tuple[str, Clocks | None]:
    """Add samples until their median is known precisely; returns the stop reason, and the clocks meanwhile."""
    before, stopped = clocks_now(subject.processes, KEY), MOST
    while len(samples) < MAX_SAMPLES:
        samples += subject.processes.ask_bench(Sample(key=KEY, count=MORE_SAMPLES))
        low, high = stats.median_ci(samples)
        if high - low <= stats.PRECISE * stats.median(samples):
            stopped = KNOWN
            break
    return stopped, clocks_over([before, clocks_now(subject.processes, KEY)])


def _settle(subject: Subject, judged: CaseResult) -> None:
    """Keep the prepared plan of a candidate that may be the next incumbent, until the case is measured again; forget
    any other plan."""
    if judged.status is Status.PASSED and judged.timing is not None and not _is_lost(judged.timing):
        name = bench_name(subject.candidate, judged.case)
        subject.processes.ask_bench(to_bench.Rename(key=KEY, name=name))
    else:
        subject.processes.ask_bench(to_bench.Forget(key=KEY))


def estimate(subject: Subject, case: str) -> Timing:
    """Roofline estimate of the time of a recorded and compiled case; nothing runs."""
    processes = subject.processes
    least = subject.info(case).bound
    bandwidth_bytes_per_s = processes.peaks()[0]["copy_bytes_per_s"]
    us = roofline.estimate_us(least, subject.launches(subject.plans[case]), processes.target, bandwidth_bytes_per_s)
    return Timing(kind="estimate", median_us=us, method="roofline.estimate_us")
