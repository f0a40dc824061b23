"""Which candidates a measurement leaves unchecked, and that one that is timed alone is always checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from fakes import BOUND, SPEC
from kernelwright.model import Candidate, Case, CaseInfo, CaseResult, Incumbent, ProblemInfo, Status
from kernelwright.worker.bench.messages import AddPlan
from kernelwright.worker.bench.race import BEHIND, KNOWN, LOST, Race
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.stages import evaluate
from kernelwright.worker.stages.measure import KEY, LET_GO, TOO_SLOW, measure
from kernelwright.worker.stages.subject import Subject
from samples import case_info

CASE = "timed"
BEST_US = 100.0
PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
PASSED = CaseResult(case=CASE, status=Status.PASSED)
TRICK = CaseResult(case=CASE, status=Status.WRONG, reason="the timed code left the output of the first call")
INFO = CaseInfo(case=Case(name=CASE), inputs=(SPEC,), outputs=(SPEC,), bytes=32768, flop=4096, bound=BOUND)


@dataclass
class FakeProcesses:
    """A candidate takes `us`; a race against the incumbent ends as `stopped`. said: the judge, of its timed runs."""

    us: float
    stopped: str = KNOWN
    said: CaseResult = PASSED
    raced: bool = False
    kept: bool = False

    def loaded(self) -> ProblemInfo:
        return ProblemInfo(name="double", format="native", source="", cases=(INFO,))

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        return self.said if message.verb == "check" else 0.0

    def ask_bench(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        verb = message.verb
        if verb == "prepare":
            return Captured(method="graph", sets=2, restored=False, steady_us=[self.us] * 6)
        if verb == "race":
            self.raced = True
            gained = self.stopped == KNOWN
            return Race([self.us] * 6, [BEST_US] * 6, self.stopped, gained)
        if verb == "forgetting":
            return [self.us], [self.us]
        if verb == "keep":
            return bool(message.key)
        self.kept = self.kept or verb == "rename"
        if verb == "sample":
            return [self.us if message.key == KEY else BEST_US] * message.count
        return (90.0, 5.0) if verb == "call" else None


@dataclass
class FakeSubject:
    processes: FakeProcesses
    candidate: Candidate = Candidate(source="ours")  # noqa: RUF009 - frozen
    plans: dict[str, Plan] = field(default_factory=lambda: {CASE: PLAN})
    measured_s: float = 0.0

    @property
    def session(self) -> FakeProcesses:
        return self.processes

    def replayable(self, plan: Plan) -> AddPlan:
        return AddPlan(name="plan", plan=plan, code=())

    def info(self, case: str) -> CaseInfo:
        return case_info(case, 1.0)

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


INCUMBENT = Incumbent(candidate=Candidate(source="best"), times_us={CASE: BEST_US})


def measured(processes: FakeProcesses, incumbent: Incumbent | None = INCUMBENT) -> CaseResult:
    return measure(cast(Subject, FakeSubject(processes)), PASSED, incumbent)


@pytest.mark.parametrize("stopped", [LOST, BEHIND])
def test_what_lost_its_race_is_forgotten_whatever_its_median(stopped: str) -> None:
    """The clock is faster than when the best was timed, so the slower of the two has the lower median."""
    processes = FakeProcesses(us=99.0, stopped=stopped)
    result = measured(processes)
    assert processes.raced
    assert result.timing is not None
    assert result.timing.stopped == stopped
    assert not processes.kept


def test_what_wins_its_race_is_kept() -> None:
    processes = FakeProcesses(us=99.0)
    assert measured(processes).status is Status.PASSED
    assert processes.kept


def test_a_trick_of_a_contender_is_caught() -> None:
    processes = FakeProcesses(us=99.0, said=TRICK)
    assert measured(processes).status is Status.WRONG
    assert not processes.kept


def test_a_search_lets_go_what_is_far_slower_than_the_incumbent() -> None:
    result = measured(FakeProcesses(us=400.0, said=TRICK))
    assert result.status is Status.PASSED
    assert result.timing is not None
    assert result.timing.stopped == TOO_SLOW


@pytest.mark.parametrize("us", [99.0, 101.0, 400.0])
def test_what_is_timed_alone_is_never_let_go_and_its_timed_runs_are_checked(us: float) -> None:
    """Also on a case where another candidate is far faster: over all cases the confirmed one may still be the best."""
    processes = FakeProcesses(us=us, stopped=LOST)
    result = measured(processes, None)
    assert not processes.raced
    assert result.timing is not None
    assert result.timing.stopped not in LET_GO
    assert result.timing.call_us == 90.0
    processes.said = TRICK
    assert measured(processes, None).status is Status.WRONG


@pytest.mark.parametrize(("purpose", "given"), [("search", INCUMBENT), ("tune", INCUMBENT), ("confirm", None)])
def test_a_confirmation_is_timed_alone(monkeypatch: pytest.MonkeyPatch, purpose: str, given: Incumbent | None) -> None:
    asked: list[Incumbent | None] = []
    monkeypatch.setattr(evaluate, "verify", lambda subject, case: PASSED)
    monkeypatch.setattr(evaluate, "leave_out", lambda subject, case: None)
    monkeypatch.setattr(evaluate, "measure", lambda subject, result, incumbent: asked.append(incumbent))
    evaluate.judged(cast(Subject, FakeSubject(FakeProcesses(us=99.0))), INFO.case, purpose, INCUMBENT)
    assert asked == [given]
