"""Which candidate is the best so far of a case: a race decides, and not two times that were taken apart."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kernelwright import stats
from kernelwright.model import CaseResult, Status
from kernelwright.worker.bench.bench import Bench, Prepared
from kernelwright.worker.bench.race import KNOWN, UNCONFIRMED
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.stages import measure
from kernelwright.worker.stages.subject import Subject

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)


@dataclass
class FakeSite:
    """A bench with one best so far, of 10 µs, whose races end as told."""

    raced: dict[str, Any]
    best_us: dict[str, float] = field(default_factory=lambda: {"large": 10.0})
    asked: list[dict[str, Any]] = field(default_factory=list)

    def ask_bench(self, message: dict[str, Any]) -> Any:
        self.asked.append(message)
        known = [measure.incumbent("large")]
        prepared = {"method": "graph", "sets": 1, "steady_us": [10.0] * 4, "known": known}
        return {"prepare": prepared, "race": self.raced, "call": (12.0, 3.0)}.get(message["verb"])


class FakeSubject(Subject):
    def __init__(self, site: FakeSite) -> None:
        self.site = cast(Any, site)
        self.plans = {"large": PLAN}

    def runnable(self, plan: Plan) -> dict[str, Any]:
        return {}

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


def settled(monkeypatch: pytest.MonkeyPatch, ours_us: float, stopped: str, gained: bool) -> FakeSite:
    passed = CaseResult(case="large", status=Status.PASSED)
    site = FakeSite({"ours_us": [ours_us] * 6, "theirs_us": [10.0] * 6, "stopped": stopped, "gained": gained})
    monkeypatch.setattr(measure, "place", lambda subject, case, draw: {})
    monkeypatch.setattr(measure, "check_timed", lambda subject, case, key, message: passed)
    monkeypatch.setattr(measure, "_judged", lambda subject, result, timing, again: CaseResult(
        case="large", status=Status.PASSED, timing=timing))  # fmt: skip
    measure.measure(FakeSubject(site), passed)
    return site


def test_a_gain_that_was_confirmed_makes_a_new_best_whatever_the_clock_was_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = settled(monkeypatch, 10.3, KNOWN, gained=True)
    assert site.best_us == {"large": 10.3}
    assert site.asked[-1] == {"verb": "rename", "key": measure.KEY, "name": measure.incumbent("large")}


def test_a_shorter_time_without_a_gain_in_the_race_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for stopped in (KNOWN, UNCONFIRMED):
        site = settled(monkeypatch, 9.8, stopped, gained=False)
        assert site.best_us == {"large": 10.0}
        assert site.asked[-1] == {"verb": "forget", "key": measure.KEY}


class FakeTimed:
    """A capture that takes the times of its generation, and notes when it is captured again."""

    def __init__(self, name: str, generations_us: list[float], log: list[str]) -> None:
        self.name, self.generations_us, self.log = name, generations_us, log

    def sample_us(self) -> float:
        return self.generations_us[0] * (1 + next(NOISE))

    def again(self) -> FakeTimed:
        self.log.append(self.name)
        return FakeTimed(self.name, self.generations_us[1:], self.log)

    def warm_up(self) -> None:
        self.log.append("warm")


NOISE = itertools.cycle((0.0001, -0.0002, 0.0003, 0.0, -0.0001))


@pytest.mark.parametrize(("after_us", "gained"), [(9.0, True), (10.1, False)])
def test_the_bench_captures_both_again_the_candidate_first_and_samples_the_new_ones(
    after_us: float, gained: bool
) -> None:
    bench, log = Bench("cpu"), []
    for name, generations_us in (("best", [10.0, 10.0]), ("candidate", [9.0, after_us])):
        timed = cast(Any, FakeTimed(name, generations_us, log))
        bench.prepared[name] = Prepared(timed, "large", cast(Any, None))
    found = bench.race("candidate", "best", 60)
    assert log == ["candidate", "warm", "best", "warm"]
    assert found["gained"] is gained
    half = len(found["ours_us"]) // 2
    assert max(found["ours_us"][:half]) < 9.1
    assert abs(found["ours_us"][-1] - after_us) < 0.1


def test_a_race_of_long_calls_has_fewer_rounds_so_that_its_request_is_answered_in_time() -> None:
    assert measure.rounds_within(measure.RACE_US, 1000.0) == measure.MOST_ROUNDS
    long_us = 200_000.0
    rounds = measure.rounds_within(measure.RACE_US, long_us)
    assert stats.MIN_PAIRS <= rounds < measure.MOST_ROUNDS
    assert rounds * measure.REPLAYS_PER_ROUND * long_us < 1e6 * Limits().prepare_s


def test_wear_replays_over_half_of_what_was_replayed_and_its_last_phase_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.cuda.synchronize", lambda: None)
    bench, counts = Bench("cpu"), set()
    for _ in range(60):
        replayed: list[int] = []
        timed = SimpleNamespace(replays=20, replay=lambda log=replayed: log.append(1))
        bench.prepared["candidate"] = Prepared(cast(Any, timed), "large", cast(Any, None))
        bench.wear("candidate")
        counts.add(len(replayed))
    assert counts == {11, 12}
