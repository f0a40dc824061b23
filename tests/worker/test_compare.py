"""What a bench asks the judge and the bench process for, and in which order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from kernelwright.errors import ProblemError
from kernelwright.model import Bound, Case, CaseInfo, Status
from kernelwright.worker.compare import measured_case
from kernelwright.worker.limits import Limits
from kernelwright.worker.plan import AGAIN, Buffer, Plan
from kernelwright.worker.site import Site
from kernelwright.worker.subject import Subject

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)
INFO = CaseInfo(case=Case(name="large"), inputs=(), outputs=(), bytes=4, flop=0,
                bound=Bound(bound_us=1.0, bound_by="bytes", bytes=4, flop=0, peaks=""))  # fmt: skip


@dataclass
class FakeSite:
    """Every value is right and every time is 10 µs. wrong: draws on which it is not; poor: verbs that lack memory."""

    wrong: tuple[int, ...] = ()
    poor: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    asked: list[str] = field(default_factory=list)
    on_gpu: bool = True
    lease: Any = field(default_factory=contextlib.nullcontext)

    def ask_judge(self, message: dict[str, Any], timeout_s: float = 0.0) -> Any:
        verb = message["verb"]
        self.asked.append(f"judge {verb}")
        if verb in self.poor:
            raise ProblemError("the GPU's memory does not hold it")
        if verb == "check":
            return {"case": "large", "status": "wrong" if message["draw"] in self.wrong else "passed"}
        answers = {"draws": [0, 1], "again": [AGAIN], "prepare": {"method": "graph", "sets": 1}, "sample": 10.0}
        return answers.get(verb, (12.0, 3.0) if verb == "call" else 9.0)

    def ask_bench(self, message: dict[str, Any], limit_s: float = 0.0) -> Any:
        verb = message["verb"]
        self.asked.append(f"bench {verb}")
        answers: dict[str, Any] = {"prepare": {"method": "graph", "sets": 1}, "sample": [10.0], "clocks": None}
        answers |= {"call": (12.0, 3.0), "forgetting": {"as_left_us": [10.0], "anew_us": [10.0]}}
        return answers.get(verb, 9.0)

    def drop(self, role: str) -> None:
        self.asked.append(f"drop {role}")


class FakeSubject(Subject):
    """A candidate with one plan, which nobody recorded or compiled."""

    def __init__(self, site: FakeSite) -> None:
        self.site = cast(Site, site)
        self.plans, self.unplanned = {"large": PLAN}, {}
        self.kernels_sha, self.kernels, self.code = "", {}, {}
        self.replayed_s = 0.0

    @contextlib.contextmanager
    def leased(self, stage: str) -> Iterator[None]:
        yield


def benched(site: FakeSite, names: tuple[str, ...] = ("mine", "other")) -> dict[str, tuple[Status, str]]:
    subjects = {name: FakeSubject(site) for name in names}
    found = measured_case(cast(Site, site), INFO, {**subjects}, ("eager", "compile"), None)
    return {row.name: (row.status, row.reason) for row in found.implementations}


def test_everything_is_verified_before_anything_is_prepared_so_that_references_find_room() -> None:
    site = FakeSite()
    assert {status for status, _ in benched(site).values()} == {Status.PASSED}
    prepared = [at for at, verb in enumerate(site.asked) if verb.endswith(" prepare")]
    drawn = [at for at, verb in enumerate(site.asked) if verb == "judge draws"]
    assert len(drawn) == 2, "one for each candidate"
    assert len(prepared) == 4, "one for each row"
    assert max(drawn) < min(prepared)
    checked = [at for at, verb in enumerate(site.asked) if verb == "judge check"]
    forgotten = site.asked.index("judge forget")
    assert not [at for at in checked if min(prepared) < at < forgotten], "what was timed is judged when there is room"
    assert max(checked) > forgotten > max(at for at, verb in enumerate(site.asked) if verb == "judge sample")


def test_a_candidate_that_is_wrong_is_neither_prepared_nor_timed() -> None:
    site = FakeSite(wrong=(1,))
    found = benched(site)
    assert found["mine"][0] is Status.WRONG
    assert found["eager"][0] is Status.PASSED
    assert "bench prepare" not in site.asked


def test_where_memory_does_not_hold_the_reference_a_candidate_is_not_verified_and_the_bench_goes_on() -> None:
    found = benched(FakeSite(poor=("fill",)))
    assert found["mine"] == (Status.NOT_VERIFIED, "the GPU's memory does not hold it")
    assert found["eager"][0] is Status.PASSED
    assert benched(FakeSite(poor=("prepare",)))["eager"][0] is Status.RUNTIME_ERROR


def test_where_memory_runs_out_after_timing_the_candidate_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    site = FakeSite()
    ask = site.ask_judge

    def poor_when_baselines_are_gone(message: dict[str, Any], timeout_s: float = 0.0) -> Any:
        if message["verb"] == "forget":
            site.poor = ("fill",)
        return ask(message, timeout_s)

    monkeypatch.setattr(site, "ask_judge", poor_when_baselines_are_gone)
    found = benched(site)
    assert found["mine"] == (Status.NOT_VERIFIED, "the GPU's memory does not hold it")
    assert found["eager"][0] is Status.PASSED
