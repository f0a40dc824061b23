"""Which draws judge a candidate: all of a case, whatever it is; one that is too slow for them is not verified."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from kernelwright.model import Case, CaseResult, Status
from kernelwright.worker.bench.messages import AddPlan
from kernelwright.worker.judge.messages import Draws
from kernelwright.worker.plan.plan import AGAIN, Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.stages.evaluate import conclusion
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
DRAWS = [0, 1, 2, 3, 4, 5]


@dataclass
class FakeProcesses:
    """Whatever is replayed is right; judge and bench take as long as they are told."""

    filling_s: float
    replaying_s: float
    now_s: float = 0.0
    on_gpu: bool = False
    limits: Limits = field(default_factory=Limits)
    rare: list[str] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    asked: list[Message] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    shared: str = ""
    undefined: tuple[str, ...] = ()
    decisive: str = ""
    filled: tuple[str, ...] = ()
    wrong_in: str = ""

    def monotonic(self) -> float:
        return self.now_s

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        self.asked.append(message)
        if message.verb == "draws":
            return DRAWS
        if message.verb == "again":
            return [AGAIN]
        if message.verb == "unjudged":
            return self.rare
        if message.verb == "fill":
            self.drawn.append(message.draw)
            self.now_s += self.filling_s
            return self.filling_s
        is_wrong = self.orders[-1] == self.wrong_in or self.decisive in self.filled
        status = Status.WRONG if is_wrong else Status.PASSED
        return CaseResult(case=message.case, status=status, reason="off" if is_wrong else "")

    def ask_bench(self, message: Message, limit_s: float = 0.0, plan: Any = None) -> Any:
        if message.verb == "run":
            self.now_s += self.replaying_s
            self.orders.append(message.order)
            self.filled = message.filled
            return [self.shared, *self.undefined]
        return {}


@dataclass
class FakeSubject:
    processes: FakeProcesses
    plans: dict[str, Plan] = field(default_factory=lambda: {"small": PLAN})
    unplanned: dict[str, Any] = field(default_factory=dict)
    unfinished: dict[str, CaseResult] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)
    noted: dict[str, list[str]] = field(default_factory=dict)
    kernels_sha: str = ""
    replayed_s: float = 0.0
    measured_s: float = 0.0

    def work(self, launch: Any) -> None:
        return None

    def replayable(self, plan: Plan) -> AddPlan:
        return AddPlan(name="plan", plan=plan, code=())

    def untrue_on_interpreter(self, plan: Plan) -> list[str]:
        return []

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


SMALL = Case(name="small", small=True)


def verified(processes: FakeProcesses, monkeypatch: pytest.MonkeyPatch) -> tuple[FakeSubject, CaseResult]:
    """On a clock that only the processes moves."""
    monkeypatch.setattr("kernelwright.worker.stages.verify.time", processes)
    subject = FakeSubject(processes)
    return subject, verify(cast(Subject, subject), SMALL)


def test_a_judge_that_takes_long_to_make_a_draw_leaves_none_out(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = FakeProcesses(filling_s=1000.0, replaying_s=1.0, limits=Limits(draws_s=10.0))
    _, result = verified(processes, monkeypatch)
    assert result.status is Status.PASSED
    assert {draw for draw in processes.drawn if draw >= 0} == set(DRAWS)


def test_a_candidate_that_is_too_slow_for_its_draws_is_not_verified_and_says_how_many_it_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = FakeProcesses(filling_s=0.0, replaying_s=20.0, limits=Limits(draws_s=100.0))
    subject, result = verified(processes, monkeypatch)
    assert result.status is Status.NOT_VERIFIED
    assert result.reason == "not verified: only 5 of 6 draws in 120 s (limit 100 s)"
    assert [draw for draw in processes.drawn if draw >= 0] == DRAWS[:5]
    assert subject.unfinished == {"small": result}


def test_a_candidate_with_elements_that_few_draws_judge_is_not_verified_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = FakeProcesses(filling_s=0.0, replaying_s=0.0, rare=["1% of output 0 is judged by too few draws"])
    subject, result = verified(processes, monkeypatch)
    assert result.status is Status.NOT_VERIFIED
    assert result.reason == f"not verified: {processes.rare[0]}"
    assert subject.unjudged == processes.rare
    assert subject.unfinished == {"small": result}


def test_one_draw_runs_programs_in_reverse_and_one_in_another_order_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = FakeProcesses(filling_s=0.0, replaying_s=0.0)
    _, result = verified(processes, monkeypatch)
    assert result.status is Status.PASSED
    assert sorted(processes.orders) == ["forward"] * (len(processes.orders) - 2) + ["reversed", "shuffled"]
    processes = FakeProcesses(filling_s=0.0, replaying_s=0.0, on_gpu=True)
    verified(processes, monkeypatch)
    assert {*processes.orders} == {"forward"}


def test_a_kernel_that_is_right_in_one_order_of_programs_is_wrong_and_the_reason_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = FakeProcesses(filling_s=0.0, replaying_s=0.0, wrong_in="reversed")
    _, result = verified(processes, monkeypatch)
    assert result.status is Status.WRONG
    assert result.reason == "with programs in another order (reversed): off"


def test_programs_that_share_memory_without_atomics_are_not_verified_with_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = FakeProcesses(filling_s=0.0, replaying_s=0.0, shared="`tl.store(y, total)` in k")
    subject, result = verified(processes, monkeypatch)
    assert result.status is Status.NOT_VERIFIED
    assert result.reason.endswith("without atomics or a barrier: `tl.store(y, total)` in k")
    assert len(subject.unjudged) == 1


def test_a_slow_candidate_is_not_verified_although_its_other_cases_passed() -> None:
    slow = CaseResult(case="slow", status=Status.NOT_VERIFIED, reason="not verified: only 1 of 6 draws")
    passed, wrong = (CaseResult(case="other", status=status, reason="off") for status in (Status.PASSED, Status.WRONG))
    assert conclusion([passed, slow], [slow]) == (Status.NOT_VERIFIED, f"case slow: {slow.reason}")
    assert conclusion([wrong, slow], [slow]) == (Status.WRONG, "case other: off")
    assert conclusion([passed], []) == (Status.PASSED, "")


def test_nothing_of_the_candidate_is_told_when_its_draws_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = FakeProcesses(filling_s=0.0, replaying_s=0.0)
    verified(processes, monkeypatch)
    assert [message for message in processes.asked if message.verb == "draws"] == [Draws(case="small")]


def test_a_result_that_depends_on_masked_lanes_is_not_verified_with_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("`x = tl.load(a, mask=m)` in k", "`y = tl.load(b, mask=m)` in k")
    _, result = verified(FakeProcesses(filling_s=0.0, replaying_s=0.0, undefined=lines), monkeypatch)
    assert result.status is Status.PASSED
    decisive = FakeProcesses(filling_s=0.0, replaying_s=0.0, undefined=lines, decisive=lines[1])
    subject, result = verified(decisive, monkeypatch)
    assert result.status is Status.NOT_VERIFIED
    assert result.reason == f"not verified: the result depends on masked lanes of a load without other: {lines[1]}"
    assert subject.unjudged == [result.reason.removeprefix("not verified: ")]
