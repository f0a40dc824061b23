"""Sampling of the rows of a benchmark: preparing a row, the order of samples, and when to stop. See `verdicts` for
the statistics.

A round samples every row once, in an order of a balanced design. After half of the rounds all rows are captured again
as CUDA graphs, the last row first and each with its copies in the opposite order. So the order of captures is reversed
in the second half.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kernelwright import stats
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import CaseInfo, Implementation, Status
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.bench.order import design, orders
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.processes.children import ServerEnded
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import place

MIN_ROUNDS, MAX_ROUNDS = 12, 60
"""Minimum and maximum number of rounds of each half."""

HALF_US = 5_000_000.0
"""Sampling of one half stops after about this much device time, untimed replays included. Only calls of several
milliseconds whose times vary, as those of products that are throttled, have fewer than MAX_ROUNDS then."""

REPLAY_US = 1000.0
"""Minimum duration of a sample: the value of `clock.REPLAY_US`, which cannot be imported without torch."""

Failed = list[Implementation]


@dataclass
class Row:
    """One implementation while it is being sampled.

    rounds_us: one sample per round. steady_us: the last warm-up samples. original: name of the row that this one is a
    copy of. capture_again: makes a new capture of the same work, its copies in the opposite order. sets: of inputs, on
    each of which a sample calls at least once.
    """

    name: str
    method: str
    sample: Callable[[], float]
    warm: Callable[[], float | None]
    call: Callable[[], tuple[float, float]]
    capture_again: Callable[[], Any]
    steady_us: list[float] = field(default_factory=list)
    original: str = ""
    sets: int = 1
    rounds_us: list[float] = field(default_factory=list)


def framework_row(processes: Processes, info: CaseInfo, name: str) -> Row:
    limit_s, case = processes.limits.baseline_s, info.case.name
    prepared = processes.ask_judge(to_judge.Prepare(case=case, name=name, least_bytes=info.bound.bytes), limit_s)
    return Row(
        name=name,
        method=described(prepared),
        sample=lambda: float(processes.ask_judge(to_judge.Sample(case=case, name=name))),
        warm=lambda: processes.ask_judge(to_judge.Warm(case=case, name=name)),
        call=lambda: processes.ask_judge(to_judge.Call(case=case, name=name)),
        capture_again=lambda: processes.ask_judge(to_judge.CaptureAgain(case=case, name=name), limit_s),
        sets=prepared["sets"],
    )


def candidate_row(processes: Processes, info: CaseInfo, name: str, subject: Subject, room: int) -> Row | Implementation:
    """Prepare a verified candidate for sampling; returns a failed row if that fails. room: bytes, see
    `compare.largest`."""
    try:
        place(subject, info.case.name, draw=0)
        sent = subject.replayable(subject.plans[info.case.name])
        prepare = to_bench.Prepare(
            key=name, case=info.case.name, plan=sent.name, room=room, restored=info.restored,
            least_bytes=info.bound.bytes,
        )  # fmt: skip
        prepared = processes.ask_bench(prepare, plan=sent)
    except Ended as ended:
        if ended.lost:
            raise
        return Implementation(name=name, status=ended.status, reason=ended.reason)
    except ProblemError as error:
        return Implementation(name=name, status=Status.NOT_VERIFIED, reason=str(error)[:400])
    return Row(
        name=name,
        method=described(prepared),
        sample=lambda: float(processes.ask_bench(to_bench.Sample(key=name, count=1))[0]),
        warm=lambda: processes.ask_bench(to_bench.Warm(key=name)),
        call=lambda: processes.ask_bench(to_bench.Call(key=name)),
        capture_again=lambda: processes.ask_bench(to_bench.CaptureAgain(key=name)),
        steady_us=prepared["steady_us"],
        sets=prepared["sets"],
    )


def described(prepared: dict[str, Any]) -> str:
    restored = ", restored before each call" if prepared.get("restored") else ""
    return f"CUDA {prepared['method']} over {prepared['sets']} rotating input sets{restored}, cold cache"


def sample_in_halves(
    rows: list[Row],
    draw: random.Random,
    reference: Callable[[list[Row]], Row | None],
    observe: Callable[[], None] = lambda: None,
) -> tuple[int, list[Row], Failed]:
    """Sample until every ratio to the reference is known precisely or time is up, then as many rounds again with places
    exchanged. Returns the number of rounds of the first half, the rows that were sampled in both halves, and the rows
    whose second capture failed.

    reference: picks the row that ratios refer to. observe: called before, between and after the halves.
    """
    observe()
    half = sample_rounds(rows, draw, lambda: all_known(rows, reference(rows)))
    observe()
    kept, failed = exchange(rows)
    sample_rounds(kept, draw, lambda: True, exactly=half)
    observe()
    return half, kept, failed


def sample_rounds(rows: list[Row], draw: random.Random, enough: Callable[[], bool], exactly: int | None = None) -> int:
    """Sample whole blocks of rounds, so that the order is balanced, unless HALF_US is used up earlier; returns the
    number of rounds. enough: whether no more samples are needed. exactly: this many rounds, without a time limit."""
    if not rows:
        return 0
    spent_us, block = 0.0, len(design(len(rows)))
    for count, order in enumerate(orders(len(rows), draw), 1):
        for row in (rows[number] for number in order):
            row.rounds_us.append(row.sample())
            spent_us += 2 * max(row.sets * row.rounds_us[-1], REPLAY_US)
        if exactly is not None:
            if count == exactly:
                return count
        elif count >= MIN_ROUNDS and (spent_us > HALF_US or (count % block == 0 and (count >= MAX_ROUNDS or enough()))):
            return count
    raise AssertionError("rounds follow each other without end")


def exchange(rows: list[Row]) -> tuple[list[Row], Failed]:
    """Capture every row again, the last first; returns the captured rows and the failed ones."""
    failed: dict[str, Implementation] = {}
    for row in reversed(rows):
        try:
            row.capture_again()
        except Ended as ended:
            if ended.lost:
                raise
            failed[row.name] = Implementation(name=row.name, status=ended.status, reason=ended.reason)
        except ServerEnded:
            raise
        except (ProblemError, WorkerError) as error:
            failed[row.name] = Implementation(name=row.name, status=Status.RUNTIME_ERROR, reason=str(error)[:400])
    return [row for row in rows if row.name not in failed], list(failed.values())


def all_known(rows: list[Row], reference: Row | None) -> bool:
    return reference is None or all(
        stats.is_known(stats.paired_log_ratio_ci(reference.rounds_us, row.rounds_us)[1]) for row in rows
    )
