"""Which baselines are compiled before a benchmark, and that nothing depends on it."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernelwright.model import Bound, Candidate, Case, CaseInfo, Evaluation, ProblemInfo, Status
from kernelwright.worker.ahead.messages import CompileAhead
from kernelwright.worker.judge.messages import Load
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.session import Session
from kernelwright.worker.stages import evaluate as stage
from kernelwright.worker.stages.ahead import begin_ahead, compile_ahead, not_begun

CASES = tuple(
    CaseInfo(case=Case(name=name, small=name == "small"), inputs=(), outputs=(), bytes=4, flop=0,
             bound=Bound(bound_us=1.0, bound_by="bytes", bytes=4, flop=0, peaks=""))
    for name in ("small", "large", "other")
)  # fmt: skip


class FakeChild:
    def __init__(self, answer: list[str] | Exception) -> None:
        self.answer, self.asked, self.discarded = answer, list[CompileAhead](), False

    def ask(self, message: CompileAhead, timeout_s: float) -> dict[str, Any]:
        self.asked.append(message)
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"value": self.answer}

    def printed(self, limit: int) -> str:
        return "AttributeError: make_precompile_fn"

    def discard(self) -> None:
        self.discarded = True


def session_of(child: FakeChild, gradients: bool = False) -> Session:
    problem = ProblemInfo(name="double", format="native", source="", cases=CASES, gradients=gradients)
    processes = SimpleNamespace(spawn=lambda role, log: child, limits=Limits(), device="cuda", cores=3)
    load = Load(path="double.py", cases=tuple(info.case for info in CASES))
    return cast(
        Session, SimpleNamespace(processes=processes, loaded=lambda: problem, read_from=lambda: load, ahead=None)
    )


def test_compiled_baselines_are_asked_for_with_every_case() -> None:
    child = FakeChild([])
    compile_ahead(session_of(child), CASES[:2], ("eager", "compile", "compile_max_autotune"))
    (asked,) = child.asked
    assert asked.names == ("compile", "compile_max_autotune")
    assert asked.wanted == ("small", "large")
    assert [case.name for case in asked.cases] == ["small", "large", "other"]
    assert (asked.device, asked.cores, child.discarded) == ("cuda", 3, True)


@pytest.mark.parametrize(("framework", "gradients"), [(("eager",), False), ((), False), (("compile",), True)])
def test_where_nothing_can_be_found_later_nothing_is_compiled(framework: tuple[str, ...], gradients: bool) -> None:
    child = FakeChild([])
    compile_ahead(session_of(child, gradients), CASES, framework)
    assert child.asked == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [(ChildDied(-9), "the process was killed by SIGKILL: AttributeError: make_precompile_fn"),
     (ChildTimeout("no answer in 300 s"), "not everything is compiled before it is timed: no answer in 300 s"),
     (["compile, case large: odd"], "not compiled before it is timed: compile, case large: odd")],
)  # fmt: skip
def test_a_failure_is_logged_and_the_benchmark_goes_on(
    caplog: pytest.LogCaptureFixture, answer: list[str] | Exception, said: str
) -> None:
    child = FakeChild(answer)
    with caplog.at_level(logging.INFO, logger="kernelwright"):
        compile_ahead(session_of(child), CASES, ("compile",))
    assert said in caplog.text
    assert child.discarded


def test_what_a_search_times_at_its_end_is_compiled_once_while_it_goes_on() -> None:
    child = FakeChild([])
    session = session_of(child)
    every = ("eager", "compile", "compile_max_autotune")
    assert not_begun(session, CASES[1:], every) == every, "a bench without a search compiles all that it times"
    begin_ahead(session)
    begin_ahead(session)
    assert not_begun(session, CASES[1:], every) == ("eager", "compile_max_autotune")
    assert [(one.names, one.wanted) for one in child.asked] == [(("compile",), ("large", "other"))]
    assert not_begun(session, CASES, every) == every, "a small case was not compiled for"


@pytest.mark.parametrize(
    ("purpose", "status", "on_gpu", "begins"),
    [("search", Status.PASSED, True, True), ("verify", Status.PASSED, True, False),
     ("search", Status.WRONG, True, False), ("search", Status.PASSED, False, False)],
)  # fmt: skip
def test_the_first_candidate_that_passes_in_a_search_on_a_gpu_begins_it(
    monkeypatch: pytest.MonkeyPatch, purpose: str, status: Status, on_gpu: bool, begins: bool
) -> None:
    begun: list[Session] = []
    monkeypatch.setattr(stage, "begin_ahead", begun.append)
    monkeypatch.setattr(stage, "_evaluated", lambda *given: Evaluation(status=status))
    processes = SimpleNamespace(on_gpu=on_gpu, twice_if_lost=lambda ask: ask())
    stage.evaluate(cast(Session, SimpleNamespace(processes=processes)), Candidate(source=""), purpose)
    assert bool(begun) == begins
