"""Times below a bound: refused where it is stated, flagged and verified once more where it is derived."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from kernelwright.model import Bound, Candidate, Case, CaseInfo, CaseResult, ProblemInfo, Status
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.plan.plan import AGAIN, Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.processes.outcome import Lost
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.session import Session
from kernelwright.worker.stages.compare import measured_case
from kernelwright.worker.stages.evaluate import replaced, with_strided
from kernelwright.worker.stages.measure import measure
from kernelwright.worker.stages.physical import below_bound, impossible, verified_anew
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import verify_strided

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
DERIVED = Bound(bound_us=20.0, bound_by="bytes", bytes=4, flop=0, peaks="")
STATED = msgspec.structs.replace(DERIVED, stated=("bytes",), stated_us=20.0)
PARTLY = msgspec.structs.replace(DERIVED, stated=("flop",), stated_us=5.0)
HONEST = msgspec.structs.replace(DERIVED, bound_us=9.0)

CAPTURED = Captured(method="graph", sets=1, restored=False, steady_us=[10.0] * 6)


@dataclass
class FakeProcesses:
    """Every time is 10 µs. judges: how many were started; wrong: (judge, case) whose values are not right."""

    bound: Bound
    wrong: tuple[tuple[int, str], ...] = ()
    judges: int = 1
    checked: list[tuple[int, str]] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)
    shapes: list[Any] = field(default_factory=lambda: [SimpleNamespace(name="large"), SimpleNamespace(name="odd")])
    on_gpu: bool = True
    lease: Any = field(default_factory=contextlib.nullcontext)

    def loaded(self) -> ProblemInfo:
        cases = (Case(name="large"), Case(name="odd", held_out=True))
        return ProblemInfo(
            name="lookup", format="native", source="",
            cases=tuple(CaseInfo(case=one, inputs=(), outputs=(), bytes=4, flop=0, bound=self.bound) for one in cases),
        )  # fmt: skip

    def ask_judge(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        verb = message.verb
        if verb == "check":
            self.checked.append((self.judges, message.case))
            if self.checked[-1] in self.wrong:
                return CaseResult(case=message.case, status=Status.WRONG, reason="off by 1")
            return CaseResult(case=message.case, status=Status.PASSED)
        answers = {"draws": [0, 1], "again": [AGAIN], "prepare": CAPTURED, "sample": [10.0],
                   "unjudged": []}  # fmt: skip
        return answers.get(verb, (12.0, 3.0) if verb == "call" else 9.0)

    def ask_bench(self, message: Message, limit_s: float = 0.0, plan: Any = None) -> Any:
        verb = message.verb
        answers: dict[str, Any] = {
            "prepare": CAPTURED,
            "sample": [10.0] * getattr(message, "count", 1), "clocks": None, "run": None, "call": (12.0, 3.0),
            "forgetting": ([10.0], [10.0]),
        }  # fmt: skip
        return answers.get(verb, 9.0)

    def drop(self, role: str) -> None:
        self.judges += role == "judge"


class FakeSubject(Subject):
    """A candidate with a plan for each case that it is prepared for, which nobody recorded or compiled."""

    def __init__(self, processes: FakeProcesses) -> None:
        self.processes, self.session, self.candidate = (
            cast(Processes, processes),
            cast(Session, processes),
            Candidate(source=""),
        )
        self.plans, self.unplanned, self.noted = {"large": PLAN}, {}, {}
        self.compiled = {}
        self.kernels_sha = self.kernels_path = ""
        self.replayed_s = self.measured_s = 0.0
        self.sent, self.declares_dense = {}, False

    def prepare(self, cases: list[str]) -> None:
        self.plans = dict.fromkeys(cases, PLAN)

    @contextlib.contextmanager
    def leased(self, stage: str) -> Iterator[None]:
        yield


def measured(processes: FakeProcesses) -> CaseResult:
    return measure(FakeSubject(processes), CaseResult(case="large", status=Status.PASSED), None)


SKIPPED = "the kernel skips work, or the problem's work() states too much"


@pytest.mark.parametrize(
    ("bound", "median_us", "refused", "flagged"),
    [
        (DERIVED, 10.0, "", "below the derived bound of 20 µs: state work()"),
        (DERIVED, 19.1, "", ""),
        (DERIVED, 18.9, "", "below the derived bound of 20 µs: state work()"),
        (STATED, 18.9, f"18.9 µs is below the stated bound of 20 µs: {SKIPPED}",
         "below the stated bound of 20 µs: work() states too much, or the time is wrong"),
        (PARTLY, 10.0, "", "below the derived bound of 20 µs: state work()"),
        (PARTLY, 4.0, f"4 µs is below the stated bound of 5 µs: {SKIPPED}",
         "below the stated bound of 5 µs: work() states too much, or the time is wrong"),
        (HONEST, 10.0, "", ""),
    ],
)  # fmt: skip
def test_only_what_is_stated_makes_a_time_impossible(
    bound: Bound, median_us: float, refused: str, flagged: str
) -> None:
    assert impossible(bound, median_us) == refused
    assert below_bound(bound, median_us) == flagged


def test_a_search_refuses_a_time_below_the_stated_bound_and_flags_one_below_the_derived() -> None:
    assert measured(FakeProcesses(STATED)).status is Status.REJECTED
    flagged = measured(FakeProcesses(DERIVED))
    assert (flagged.status, flagged.below_bound) == (
        Status.PASSED,
        "below the derived bound of 20 µs: state work()",
    )
    assert measured(FakeProcesses(HONEST)).below_bound == ""


def once_more(subject: Any, results: list[CaseResult]) -> list[CaseResult]:
    """What an evaluation makes of results of which one is flagged."""
    every = with_strided(subject.session, [info.case for info in subject.session.loaded().cases])
    return replaced(results, verified_anew(subject, every))


def test_what_is_flagged_is_verified_on_every_case_by_a_new_judge() -> None:
    processes = FakeProcesses(DERIVED)
    results = [measured(processes)]
    seen = len(processes.checked)
    assert once_more(FakeSubject(processes), results) == results
    assert {(2, "large"), (2, "odd")} == set(processes.checked[seen:])


def test_what_a_new_judge_finds_wrong_is_wrong() -> None:
    processes = FakeProcesses(DERIVED, wrong=((2, "odd"),))
    found = once_more(FakeSubject(processes), [measured(processes)])
    assert [(one.case, one.status) for one in found] == [("large", Status.PASSED), ("odd", Status.WRONG)]
    assert found[1].reason == "faster than the derived bound, and when verified once more: off by 1"


def test_strided_inputs_may_be_refused_when_a_candidate_is_verified_once_more() -> None:
    subject = FakeSubject(FakeProcesses(DERIVED))
    subject.unplanned = {"odd/strided": CaseResult(case="odd/strided", status=Status.REJECTED, reason="not dense")}
    assert verified_anew(subject, [Case(name="odd"), Case(name="odd/strided")]) is None
    subject.unplanned["odd"] = CaseResult(case="odd", status=Status.NOT_VERIFIED, reason="no memory")
    doubt = verified_anew(subject, [Case(name="odd"), Case(name="odd/strided")])
    assert doubt is not None
    assert doubt.status is Status.NOT_VERIFIED


@pytest.mark.parametrize(("losses", "serves"), [(1, []), (2, ["dense"])])
def test_a_process_that_other_layouts_end_twice_says_that_dense_inputs_are_served(
    losses: int, serves: list[str]
) -> None:
    @dataclass
    class Losing(FakeProcesses):
        judges_lost: int = 0
        twice_if_lost = Processes.twice_if_lost
        runs: int = 0

        def ask_bench(self, message: Message, limit_s: float = 0.0, plan: Any = None) -> Any:
            self.runs += message.verb == "run"
            if message.verb == "run" and self.runs <= losses:
                raise Lost(Status.CRASHED, "the process that ran the kernels was killed by SIGSEGV")
            return super().ask_bench(message, limit_s, plan)

    subject = FakeSubject(Losing(DERIVED))
    subject.prepare(["odd", "odd/strided"])
    found = verify_strided(subject, Case(name="odd/strided"))
    assert [one.name for one in found.serves] == serves
    assert found.status is (Status.NOT_VERIFIED if serves else Status.PASSED), found.reason


def benched(processes: FakeProcesses) -> dict[str, tuple[Status, str]]:
    info = processes.loaded().cases[0]
    found = measured_case(cast(Processes, processes), info, {"mine": FakeSubject(processes)}, ("eager",), None)
    assert found.bound_kind == ("stated" if processes.bound is STATED else "derived")
    return {row.name: (row.status, row.reason or row.below_bound) for row in found.implementations}


def test_a_bench_flags_candidates_and_the_framework_below_a_derived_bound() -> None:
    said = "below the derived bound of 20 µs: state work()"
    assert benched(FakeProcesses(DERIVED)) == {"mine": (Status.PASSED, said), "eager": (Status.PASSED, said)}
    assert benched(FakeProcesses(HONEST)) == {"mine": (Status.PASSED, ""), "eager": (Status.PASSED, "")}


def test_a_bench_refuses_what_beats_the_stated_bound_or_is_wrong_when_verified_once_more() -> None:
    status, reason = benched(FakeProcesses(STATED))["mine"]
    assert (status, "below the stated bound" in reason) == (Status.REJECTED, True)
    status, reason = benched(FakeProcesses(DERIVED, wrong=((2, "large"),)))["mine"]
    assert (status, "when verified once more: off by 1" in reason) == (Status.WRONG, True)
