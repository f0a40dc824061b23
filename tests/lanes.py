"""Lanes of a fleet, as fakes that die."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fakes import FakeWorker
from kernelwright.errors import ProblemError, WorkerLost
from kernelwright.evaluator.fleet import Fleet
from kernelwright.model import (
    AS_KEPT,
    PROTOCOL,
    BenchCandidates,
    BenchReport,
    Candidate,
    CompileCandidate,
    EvaluateCandidate,
    Evaluation,
    Hello,
    Incumbent,
    Loading,
    LoadProblem,
    ProblemInfo,
    ProfileCandidate,
    ProfileFramework,
    QualificationReport,
    QualifyProblem,
)

HELLO = Hello(
    protocol=PROTOCOL, kernelwright="0", host="here", device="Fake GPU", gpu="GPU-0", target="sm_90", driver="1",
    torch="2", triton="3", cores=1,
)  # fmt: skip


LATE_S = 10.0
"""A lane that is loaded late gets none of the evaluations that others were given before."""


@dataclass
class FakeLane(FakeWorker):
    """Dies at what its `dies` says, and then answers nothing."""

    hello: Hello = HELLO
    dies: Callable[[FakeLane, Candidate], bool] = lambda lane, candidate: False
    is_dead: bool = False
    gate: threading.Event | None = None
    """Evaluations wait for it."""
    meet: Callable[[FakeLane], None] = lambda lane: None
    """Called by each evaluation."""
    done: list[str] = field(default_factory=list)
    """What it was asked, in order."""
    benched: int = 0

    def ask(self, call: Any) -> Any:
        match call:
            case LoadProblem(path=path, loading=loading):
                return self.load(path, loading)
            case QualifyProblem(every=every):
                return self.qualify(every)
            case CompileCandidate(candidate=candidate, purpose=purpose):
                return self.compile(candidate, purpose)
            case EvaluateCandidate(candidate=candidate, purpose=purpose, incumbent=incumbent):
                return self.evaluate(candidate, purpose, incumbent)
            case BenchCandidates(candidates=candidates, cases=cases, framework=framework, against=against):
                return self.bench(
                    candidates, cases, "compile_max_autotune" in framework, "compile" in framework, against
                )
            case ProfileCandidate(candidate=candidate, case=case, full=full):
                return self.profile(candidate, case, full)
            case ProfileFramework(name=name, case=case, full=full):
                return self.profile(name, case, full)
            case _:
                return getattr(self, call.verb)()

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        self.done.append(f"load {path}")
        if "bad" in path:
            raise ProblemError(f"{path} is none")
        return super().load(path, loading)

    def qualify(self, every: bool = False) -> QualificationReport:
        self.done.append("qualify")
        return super().qualify(every)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        if self.gate is not None:
            self.gate.wait(600)
        self.meet(self)
        was_dead, self.is_dead = self.is_dead, self.is_dead or self.dies(self, candidate)
        if self.is_dead:
            error = WorkerLost("the worker ended without an answer")
            error.from_outside = was_dead
            raise error
        self.done.append(f"{purpose} {candidate.id}")
        found = super().evaluate(candidate, purpose, incumbent)
        return msgspec.structs.replace(found, gpu=self.hello.gpu or "")

    def bench(
        self, candidates: dict[str, Candidate], cases: tuple[str, ...] = (), max_autotune: bool = False,
        compile: bool = True, against: str | None = None,
    ) -> BenchReport:  # fmt: skip
        self.benched += 1
        return super().bench(candidates, cases, max_autotune, compile, against)


class Lanes:
    """What starts the lanes of a fleet; `started` are the workers of each, in order. together: all
    evaluations but the first wait until every lane has had one, or for LATE_S."""

    def __init__(self, count: int, together: bool = False, **settings: object) -> None:
        self.settings = settings | ({"meet": self._meet} if together else {})
        self._met = threading.Condition()
        self._at_work: set[int] = set()
        self.started: dict[str, list[FakeLane]] = {f"lane {number}": [] for number in range(count)}
        self.hellos = {
            name: msgspec.structs.replace(HELLO, gpu=f"GPU-{number}") for number, name in enumerate(self.started)
        }
        self.refusals: dict[str, Exception] = {}

    def fleet(self) -> Fleet:
        return Fleet({name: lambda name=name: self._start(name) for name in self.started})

    def _start(self, name: str) -> FakeLane:
        if name in self.refusals:
            raise self.refusals[name]
        lane = FakeLane(hello=self.hellos[name], **self.settings)  # type: ignore[arg-type]
        self.started[name].append(lane)
        return lane

    def _meet(self, lane: FakeLane) -> None:
        with self._met:
            is_first = not self._at_work
            self._at_work.add(id(lane))
            self._met.notify_all()
            if not is_first:
                self._met.wait_for(lambda: len(self._at_work) >= len(self.started), LATE_S)

    @property
    def workers(self) -> list[FakeLane]:
        return [lane for started in self.started.values() for lane in started]
