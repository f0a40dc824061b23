"""Whom a measurement lets go unchecked, who becomes the one to race against, and that a confirmation lets nobody go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from fakes import BOUND, SPEC
from kernelwright import codec
from kernelwright.model import Case, CaseInfo, CaseResult, ProblemInfo, Status
from kernelwright.worker.bench.race import BEHIND, KNOWN, LOST
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.stages.measure import LET_GO, TOO_SLOW, incumbent, measure
from kernelwright.worker.stages.subject import Subject

CASE = "timed"
PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
PASSED = CaseResult(case=CASE, status=Status.PASSED)
TRICK = CaseResult(case=CASE, status=Status.WRONG, reason="the timed code left the output of the first call")
INFO = CaseInfo(case=Case(name=CASE), inputs=(SPEC,), outputs=(SPEC,), bytes=32768, flop=4096, bound=BOUND)


@dataclass
class FakeSite:
    """A candidate takes `us`; a race against the best so far ends as `stopped`. said: the judge, of its
    timed runs."""

    us: float
    stopped: str = KNOWN
    said: CaseResult = PASSED
    best_us: dict[str, float] = field(default_factory=dict)
    prepared: list[str] = field(default_factory=list)
    raced: bool = False

    def loaded(self) -> ProblemInfo:
        return ProblemInfo(name="double", format="native", source="", cases=(INFO,))

    def ask_judge(self, message: dict[str, Any]) -> Any:
        return codec.plain(self.said) if message["verb"] == "check" else None

    def ask_bench(self, message: dict[str, Any]) -> Any:
        verb = message["verb"]
        if verb == "prepare":
            return {"steady_us": [self.us] * 6, "known": list(self.prepared), "method": "graph", "sets": 2}
        if verb == "race":
            self.raced = True
            return {"ours_us": [self.us] * 6, "stopped": self.stopped, "gained": self.stopped == KNOWN}
        if verb == "forgetting":
            return {"as_left_us": [self.us], "anew_us": [self.us]}
        if verb == "rename":
            self.prepared.append(message["name"])
        return {"sample": [self.us] * message.get("count", 0), "call": (90.0, 5.0)}.get(verb)


@dataclass
class FakeSubject:
    site: FakeSite
    plans: dict[str, Plan] = field(default_factory=lambda: {CASE: PLAN})

    def runnable(self, plan: Plan) -> dict[str, Any]:
        return {}

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


def measured(site: FakeSite, alone: bool = False) -> CaseResult:
    return measure(cast(Subject, FakeSubject(site)), PASSED, alone)


@pytest.mark.parametrize("stopped", [LOST, BEHIND])
def test_what_lost_its_race_is_never_the_next_to_race_against_whatever_its_median(stopped: str) -> None:
    """The clock is faster than when the best was timed, so the slower of the two has the lower median."""
    site = FakeSite(us=99.0, stopped=stopped, best_us={CASE: 100.0}, prepared=[incumbent(CASE)])
    result = measured(site)
    assert site.raced
    assert result.timing is not None
    assert result.timing.stopped == stopped
    assert site.best_us == {CASE: 100.0}
    assert site.prepared == [incumbent(CASE)]


def test_what_wins_its_race_is_the_next_to_race_against() -> None:
    site = FakeSite(us=99.0, best_us={CASE: 100.0}, prepared=[incumbent(CASE)])
    assert measured(site).status is Status.PASSED
    assert site.best_us == {CASE: 99.0}


def test_a_trick_of_a_contender_is_caught() -> None:
    assert measured(FakeSite(us=99.0, said=TRICK)).status is Status.WRONG


def test_a_search_lets_go_what_is_far_slower_than_the_best_of_the_case() -> None:
    result = measured(FakeSite(us=400.0, said=TRICK, best_us={CASE: 100.0}))
    assert result.status is Status.PASSED
    assert result.timing is not None
    assert result.timing.stopped == TOO_SLOW


@pytest.mark.parametrize("us", [99.0, 101.0, 400.0])
def test_a_confirmation_lets_nobody_go_and_checks_what_the_timed_runs_left(us: float) -> None:
    """Also on a case where another candidate is far faster: over all cases the confirmed one may still be the best."""
    site = FakeSite(us=us, stopped=LOST, best_us={CASE: 100.0}, prepared=[incumbent(CASE)])
    result = measured(site, alone=True)
    assert not site.raced
    assert result.timing is not None
    assert result.timing.stopped not in LET_GO
    assert result.timing.call_us == 90.0
    site.said = TRICK
    assert measured(site, alone=True).status is Status.WRONG
