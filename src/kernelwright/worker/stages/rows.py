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
from functools import partial
from typing import Protocol, TypeVar

from kernelwright import stats
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import FRAMEWORK, CaseInfo, CaseResult, Implementation, Status
from kernelwright.worker.bench.order import design, orders
from kernelwright.worker.clock.captured import REPLAY_US
from kernelwright.worker.clock.messages import CaptureAgain, Sample
from kernelwright.worker.judge import messages as to_judge
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.children import ServerEnded
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.stages.measure import prepare
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import place

T = TypeVar("T")

MIN_ROUNDS, MAX_ROUNDS = 12, 60
"""Minimum and maximum number of rounds of each half."""

HALF_US = 5_000_000.0
"""Sampling of one half stops after about this much device time, untimed replays included. Only calls of several
milliseconds whose times vary, as those of products that are throttled, have fewer than MAX_ROUNDS then."""


class Ask(Protocol):
    def __call__(self, message: Message[T], /) -> T: ...


@dataclass
class Row:
    """One implementation while it is being sampled.

    ask: sends a message of `clock.messages` to the process that has it prepared. rounds_us: one sample per round.
    steady_us: the last warm-up samples. original: name of the row that this one is a copy of. sets: of inputs, on each
    of which a sample calls at least once.
    """

    name: str
    method: str
    ask: Ask
    steady_us: list[float] = field(default_factory=list)
    original: str = ""
    sets: int = 1
    rounds_us: list[float] = field(default_factory=list)

    def sample(self) -> float:
        return self.ask(Sample(key=self.name))[0]


def framework_row(processes: Processes, info: CaseInfo, name: str) -> Row:
    limit_s, case = processes.limits.baseline_s, info.case.name
    prepared = processes.ask_judge(to_judge.Prepare(case=case, name=name, least_bytes=info.bound.bytes), limit_s)

    def ask(message: Message[T], /) -> T:
        return processes.ask_judge(message, limit_s)

    return Row(name=name, method=str(prepared), ask=ask, sets=prepared.sets)


def candidate_row(processes: Processes, name: str, subject: Subject, case: str, room: int) -> Row:
    """Prepare a verified candidate for sampling. room: bytes of the largest plan of the case."""
    place(subject, case, draw=0)
    prepared = prepare(subject, case, name, room)
    return Row(
        name=name, method=str(prepared), ask=processes.ask_bench, steady_us=prepared.steady_us, sets=prepared.sets
    )


def failure(name: str, found: Ended | CaseResult) -> Implementation:
    return Implementation(name=name, status=found.status, reason=found.reason)


def try_row(name: str, ask: Callable[[], T]) -> T | Implementation:
    """What `ask` gives, or a failed row. Raises where a process was lost, or the fault is the machine's."""
    try:
        return ask()
    except Ended as ended:
        return failure(name, ended)
    except (ProblemError, WorkerError) as error:
        is_own = name in FRAMEWORK and not isinstance(error, ServerEnded)
        if not (is_own or isinstance(error, ProblemError)):
            raise
        status = Status.RUNTIME_ERROR if is_own else Status.NOT_VERIFIED
        return Implementation(name=name, status=status, reason=str(error)[:400])


def sample_in_halves(
    rows: list[Row], draw: random.Random, reference: Callable[[list[Row]], Row | None],
    observe: Callable[[], None] = lambda: None,
) -> tuple[int, list[Row], list[Implementation]]:  # fmt: skip
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


def exchange(rows: list[Row]) -> tuple[list[Row], list[Implementation]]:
    """Capture every row again, the last first; returns the captured rows and the failed ones."""
    found = {row.name: try_row(row.name, partial(row.ask, CaptureAgain(key=row.name))) for row in reversed(rows)}
    failed = [one for one in found.values() if isinstance(one, Implementation)]
    names = {one.name for one in failed}
    return [row for row in rows if row.name not in names], failed


def all_known(rows: list[Row], reference: Row | None) -> bool:
    return reference is None or all(
        stats.is_known(stats.paired_log_ratio_ci(reference.rounds_us, row.rounds_us)[1]) for row in rows
    )
