"""A search over lanes of unequal speed finds the best candidate by ratios; by plain times it would not."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernelwright import stats
from kernelwright.journal import Event, EventKind, RunState
from kernelwright.model import Candidate, CaseInfo, CaseResult, Evaluation, Incumbent, Proposal, Status, Timing
from kernelwright.worker.bench.messages import AddPlan
from kernelwright.worker.bench.race import race
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.stages import measure
from kernelwright.worker.stages.subject import Subject
from samples import case_info

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
PASSED = CaseResult(case="big", status=Status.PASSED)
LANES, CANDIDATES, SEARCHES = 8, 40, 30
SPREAD, NOISE = 0.04, 0.003
"""Between GPUs of one name, and of one sample."""


@dataclass
class LaneClock:
    """The bench of a GPU that takes `slow` times as long. ours_us, theirs_us: of the candidate and of the incumbent, on
    the GPU on which the run began."""

    slow: float
    draw: random.Random
    ours_us: float = 0.0
    theirs_us: float = 0.0

    def sample_us(self, key: str) -> float:
        true_us = self.ours_us if key == measure.KEY else self.theirs_us
        return true_us * self.slow * self.draw.gauss(1, NOISE)

    def ask_bench(self, message: Message, plan: Any = None) -> Any:
        match message.verb:
            case "keep":
                return True
            case "prepare":
                return Captured(
                    method="graph", sets=2, restored=False, steady_us=[self.sample_us(message.key) for _ in range(4)]
                )
            case "sample":
                return [self.sample_us(message.key) for _ in range(message.count)]
            case "race":
                ours, theirs = (lambda key=key: self.sample_us(key) for key in (message.key, message.against))
                return race(ours, theirs, lambda: None, self.draw, message.most)
            case "call":
                return (90.0, 5.0)
        return None


@dataclass
class FakeSubject:
    processes: LaneClock
    candidate: Candidate
    plans: dict[str, Plan] = field(default_factory=lambda: {"big": PLAN})

    def replayable(self, plan: Plan) -> AddPlan:
        return AddPlan(name="plan", plan=plan, code=())

    def info(self, case: str) -> CaseInfo:
        return case_info(case, 1.0)

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


@pytest.fixture(autouse=True)
def only_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """All else is right, and nobody asks for the interval of a median."""

    def judged(subject: Subject, result: CaseResult, timing: Timing, again: CaseResult) -> CaseResult:
        return CaseResult(case="big", status=Status.PASSED, timing=timing)

    monkeypatch.setattr(measure, "place", lambda *_, **__: None)
    monkeypatch.setattr(measure, "library_shares", lambda *_, **__: ())
    monkeypatch.setattr(measure, "check_timed", lambda *_: PASSED)
    monkeypatch.setattr(measure, "_judged", judged)
    unasked = SimpleNamespace(**{**vars(stats), "median_ci": lambda samples, *_: (min(samples), max(samples))})
    monkeypatch.setattr(measure, "stats", unasked)


def searched(seed: int, times_us: list[float]) -> list[Timing]:
    """The time of each candidate, on a lane that is drawn; the first, alone, on the lane on which the run began."""
    draw = random.Random(seed)
    lanes = [LaneClock(draw.gauss(1, SPREAD), draw) for _ in range(LANES)]
    found: list[Timing] = []
    state = RunState()

    def take(kind: EventKind, number: int, payload: Proposal | Evaluation) -> None:
        time = "2026-11-21T10:00:00+00:00"
        state.take(Event(seq=state.seq + 1, kind=kind, number=number, time=time, payload=payload))

    for number, us in enumerate(times_us):
        lane = draw.choice(lanes) if number else lanes[0]
        incumbent = state.incumbent()
        lane.ours_us = us
        lane.theirs_us = times_us[index_of(incumbent)]
        candidate = Candidate(source=str(number))
        timing = measure.measure(cast(Subject, FakeSubject(lane, candidate)), PASSED, incumbent).timing
        assert timing is not None
        found.append(timing)
        take(EventKind.PROPOSED, number, Proposal(author="me", candidate=candidate))
        results = (CaseResult(case="big", status=Status.PASSED, timing=timing),)
        take(EventKind.EVALUATED, number, Evaluation(status=Status.PASSED, score_us=timing.median_us, results=results))
    return [
        Timing(kind="measured", median_us=one.median_us / lanes[0].slow, scale=one.scale / lanes[0].slow)
        for one in found
    ]


def index_of(incumbent: Incumbent | None) -> int:
    return 0 if incumbent is None else int(incumbent.candidate.source)


def landscape(seed: int) -> list[float]:
    """The starter, then candidates up to 1.4 times as fast, of which the best is 1 % ahead of the second."""
    draw = random.Random(-seed - 1)
    others = sorted(draw.uniform(100.0, 135.0) for _ in range(CANDIDATES - 2))
    times_us = [others[0] / 1.01, *others]
    draw.shuffle(times_us)
    return [140.0, *times_us]


def test_the_best_is_found_by_ratios_and_not_by_plain_times() -> None:
    by_ratio = by_clock = 0
    errors: list[float] = []
    for seed in range(SEARCHES):
        times_us = landscape(seed)
        best = times_us.index(min(times_us))
        found = searched(seed, times_us)
        by_ratio += min(range(CANDIDATES), key=lambda n: found[n].median_us) == best
        by_clock += min(range(CANDIDATES), key=lambda n: found[n].clock_us) == best
        errors.append(found[best].median_us / times_us[best])
    assert by_ratio >= 0.9 * SEARCHES
    assert by_clock <= 0.6 * SEARCHES
    assert abs(stats.geometric_mean(errors) - 1) < 0.003, "luck does not add up from one incumbent to the next"


def test_equal_candidates_do_not_become_faster_and_faster() -> None:
    """A hundred ties: each is raced against a new measurement of the incumbent, and half of them are lucky."""
    found = [timing.median_us for timing in searched(0, [100.0] * 100)]
    assert min(found) > 99.0
    assert abs(stats.geometric_mean(found) - 100.0) < 0.5
