"""The rows of a bench while they are sampled: who can be asked for samples, in turn, and for how long.

What follows from the samples is `compare`'s. The rule: a round samples every row once, forwards and then backwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kernelwright import stats
from kernelwright.errors import ProblemError
from kernelwright.model import CaseInfo, Implementation, Status
from kernelwright.worker.outcome import Ended
from kernelwright.worker.site import Site
from kernelwright.worker.subject import Subject
from kernelwright.worker.verify import place

MIN_ROUNDS, MAX_ROUNDS = 12, 60
CASE_US = 20_000_000.0
"""Sampling of one case stops after about this much device time."""

FLOOR = 0.005
"""Least noise floor, above what a kernel compared with itself shows (`benchmarks/trust.py same`)."""


@dataclass
class Row:
    """One implementation while it is being sampled. rounds_us: the mean of a round's two samples; drift: their
    ratio, which is 1 but for noise."""

    name: str
    method: str
    sample: Callable[[], float]
    warm: Callable[[], float]
    call: Callable[[], tuple[float, float]]
    rounds_us: list[float] = field(default_factory=list)
    drift: list[float] = field(default_factory=list)


def framework_row(site: Site, case: str, name: str) -> Row:
    message = {"case": case, "name": name}
    prepared = site.ask_judge({"verb": "prepare"} | message, site.limits.baseline_s)
    return Row(
        name=name,
        method=described(prepared),
        sample=lambda: float(site.ask_judge({"verb": "sample"} | message)),
        warm=lambda: float(site.ask_judge({"verb": "warm"} | message)),
        call=lambda: site.ask_judge({"verb": "call"} | message),
    )


def candidate_row(site: Site, info: CaseInfo, name: str, subject: Subject, room: int) -> Row | Implementation:
    """A verified candidate ready to be sampled, or why it is not. room: bytes, see `largest`."""
    try:
        place(subject, info.case.name, draw=0)
        runnable = subject.runnable(subject.plans[info.case.name])
        prepared = site.ask_bench({"verb": "prepare", "key": name, "case": info.case.name, "room": room} | runnable)
    except Ended as ended:
        return Implementation(name=name, status=ended.status, reason=ended.reason)
    except ProblemError as error:
        return Implementation(name=name, status=Status.NOT_VERIFIED, reason=str(error)[:400])
    return Row(
        name=name,
        method=described(prepared),
        sample=lambda: float(site.ask_bench({"verb": "sample", "key": name, "count": 1})[0]),
        warm=lambda: float(site.ask_bench({"verb": "warm", "key": name})),
        call=lambda: site.ask_bench({"verb": "call", "key": name}),
    )


def described(prepared: dict[str, Any]) -> str:
    return f"CUDA {prepared['method']} over {prepared['sets']} rotating input sets, cold cache"


def sample_rounds(rows: list[Row]) -> None:
    """Sample until every ratio to the first row is known precisely, or time is up."""
    spent_us = 0.0
    for count in range(1, MAX_ROUNDS + 1):
        forwards = [row.sample() for row in rows]
        backwards = [row.sample() for row in reversed(rows)][::-1]
        for row, there, back in zip(rows, forwards, backwards, strict=True):
            row.rounds_us.append((there + back) / 2)
            row.drift.append(there / back)
        spent_us += 2 * sum(max(sample_us, 1000.0) for sample_us in forwards)
        if count >= MIN_ROUNDS and (spent_us > CASE_US or all(narrow(rows[0], row) for row in rows)):
            return


def narrow(first: Row, row: Row) -> bool:
    _, interval = stats.paired_log_ratio_ci(first.rounds_us, row.rounds_us)
    return stats.is_known(interval)


def noise_floor(row: Row) -> float:
    """How far an implementation seems to differ from itself: FLOOR, or more where its own samples say so."""
    return max(FLOOR, abs(stats.median(row.drift) - 1))
