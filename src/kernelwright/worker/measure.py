"""How long does a verified candidate take? Measured on a GPU, otherwise estimated from the compiler's resources."""

from __future__ import annotations

import msgspec

from kernelwright import codec, roofline, stats
from kernelwright.model import CaseResult, Clocks, Status, Timing
from kernelwright.worker.outcome import Ended
from kernelwright.worker.subject import Subject
from kernelwright.worker.verify import check, place

HOPELESS = 1.5
"""A kernel this much slower than the best so far is not measured to precision."""

PRECISE = 0.005
"""Sampling stops when the 95 % interval of the median is narrower than this fraction of it."""

FIRST_SAMPLES, MORE_SAMPLES, MAX_SAMPLES = 3, 10, 123

KEY = "candidate"
"""What the bench calls the plan that a search measures."""


def measure(subject: Subject, result: CaseResult) -> CaseResult:
    """Measured device time of a verified case; its outputs are checked again after the timed runs."""
    with subject.leased("time"):
        try:
            message = place(subject, result.case, draw=0)
            timing = _sampled(subject, result.case)
        except Ended as ended:
            return CaseResult(case=result.case, status=ended.status, reason=ended.reason)
        again = check(subject, message)
    if again.status is not Status.PASSED:
        return msgspec.structs.replace(again, reason=f"in the timed runs: {again.reason}")
    return msgspec.structs.replace(result, timing=timing)


def _sampled(subject: Subject, case: str) -> Timing:
    site = subject.site
    site.ask_bench({"verb": "prepare", "key": KEY, "kernels": subject.kernels_path,
                    "plan": codec.plain(subject.plans[case])})  # fmt: skip
    samples: list[float] = site.ask_bench({"verb": "sample", "key": KEY, "count": FIRST_SAMPLES})
    best = site.best_us.get(case)
    stopped = "over 1.5 times the best so far" if best and stats.median(samples) > HOPELESS * best else ""
    while not stopped:
        samples += site.ask_bench({"verb": "sample", "key": KEY, "count": MORE_SAMPLES})
        low, high = stats.bootstrap_ci(samples, stats.median)
        if high - low <= PRECISE * stats.median(samples):
            stopped = "interval narrow enough"
        elif len(samples) >= MAX_SAMPLES:
            stopped = "most samples"
    clocks = site.ask_bench({"verb": "clocks"})
    call_us, issue_us = site.ask_bench({"verb": "call", "key": KEY})
    site.ask_bench({"verb": "forget", "key": KEY})
    middle = stats.median(samples)
    site.best_us[case] = min(middle, best or middle)
    return Timing(
        kind="measured", median_us=middle, ci95_us=stats.bootstrap_ci(samples, stats.median),
        samples_us=tuple(samples), call_us=call_us, issue_us=issue_us, stopped=stopped,
        method="CUDA graph over rotating input sets, cold cache",
        clocks=codec.record(clocks, Clocks) if clocks else None,
    )  # fmt: skip


def estimate(subject: Subject, case: str) -> Timing:
    """A guess at a recorded and compiled case's time; nothing ran."""
    site = subject.site
    least = next(info.bound for info in site.loaded().cases if info.case.name == case)
    bandwidth_bytes_per_s = site.peaks()[0]["copy_bytes_per_s"]
    us = roofline.estimate_us(least, subject.launches(subject.plans[case]), site.target, bandwidth_bytes_per_s)
    return Timing(kind="estimate", median_us=us, method="roofline.estimate_us")
