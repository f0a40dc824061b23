"""The incumbent comes with the request: the bench has its plan, or gets it again."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from kernelwright import stats
from kernelwright.model import Candidate, CaseInfo, CaseResult, Clocks, Incumbent, Status
from kernelwright.worker.bench import messages as to_bench
from kernelwright.worker.bench.bench import Bench, Prepared
from kernelwright.worker.bench.messages import AddPlan
from kernelwright.worker.bench.race import KNOWN, LOST, Race
from kernelwright.worker.clock.captured import Captured
from kernelwright.worker.plan.plan import Buffer, Plan
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.processes.limits import Limits
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.stages import measure
from kernelwright.worker.stages.subject import Subject
from samples import case_info

PLAN = Plan(buffers=(Buffer(id=0, nbytes=4, origin="scratch"),), steps=(), outputs=(), single=True)


class FakeProcesses:
    """A bench that knows the plans of `prepared`, by name, and whose races end as told. slow: times of this GPU over
    those of the GPU on which the incumbent was first timed; ours_us: of the candidate there."""

    def __init__(
        self, prepared: list[str], raced: Race | None = None, slow: float = 1.0, ours_us: float = 10.0
    ) -> None:
        self.prepared, self.raced = prepared, raced
        self.slow, self.ours_us = slow, ours_us
        self.asked: list[Message] = []

    def ask_bench(self, message: Message, timeout_s: float = 0.0, plan: Any = None) -> Any:
        self.asked.append(message)
        match message.verb:
            case "keep":
                self.prepared = [name for name in self.prepared if name == message.key]
                return bool(self.prepared)
            case "prepare":
                self.prepared.append(message.key)
                return Captured(method="graph", sets=1, restored=False, steady_us=[self.slow * self.ours_us] * 4)
            case "rename":
                self.prepared[self.prepared.index(message.key)] = message.name
            case "forget":
                self.prepared.remove(message.key)
            case "race":
                return self.raced
            case "call":
                return (12.0, 3.0)
            case "sample":
                return [self.slow * (self.ours_us if message.key == measure.KEY else 10.0)] * message.count
        return None

    def verbs(self) -> list[str]:
        return [message.verb for message in self.asked]


OURS, BEST = Candidate(source="ours"), Candidate(source="best")
INCUMBENT = Incumbent(candidate=BEST, times_us={"large": 10.0})


class FakeSubject(Subject):
    """Records and compiles whatever it is given to the same plan, unless its source says that it fails."""

    def __init__(self, session: Any, candidate: Candidate) -> None:
        self.session = self.processes = session
        self.candidate, self.plans = candidate, {}

    def prepare(self, cases: list[str]) -> None:
        if "fails" in self.candidate.source:
            raise Ended(Status.CRASHED, "the recorder ended")
        self.plans = dict.fromkeys(cases, PLAN)

    def replayable(self, plan: Plan) -> AddPlan:
        return AddPlan(name="plan", plan=plan, code=())

    def info(self, case: str) -> CaseInfo:
        return case_info(case, 1.0)

    @contextlib.contextmanager
    def leased(self, name: str) -> Iterator[None]:
        yield


def settled(
    monkeypatch: pytest.MonkeyPatch, processes: FakeProcesses, incumbent: Incumbent | None, ours: Candidate = OURS
) -> CaseResult:
    """The measurement of `ours`, which is right in whatever it is asked."""
    passed = CaseResult(case="large", status=Status.PASSED)
    monkeypatch.setattr(measure, "Subject", FakeSubject)
    monkeypatch.setattr(measure, "place", lambda subject, case, draw: {})
    monkeypatch.setattr(measure, "check_timed", lambda subject, case, key, message: passed)
    monkeypatch.setattr(measure, "_judged", lambda subject, result, timing, again: CaseResult(
        case="large", status=Status.PASSED, timing=timing))  # fmt: skip
    subject = FakeSubject(processes, ours)
    subject.prepare(["large"])
    return measure.measure(subject, passed, incumbent)


def raced(ours_us: float, stopped: str = KNOWN) -> Race:
    return Race([ours_us] * 6, [10.0] * 6, stopped, stopped == KNOWN)


def test_an_incumbent_that_the_bench_has_is_raced_against_and_every_other_plan_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = measure.bench_name(BEST, "large")
    processes = FakeProcesses([name, "large by an older one"], raced(10.3))
    result = settled(monkeypatch, processes, INCUMBENT)
    assert result.timing is not None
    assert result.timing.median_us == 10.3
    assert processes.verbs().count("prepare") == 1
    assert next(message.against for message in processes.asked if message.verb == "race") == name
    assert processes.prepared == [name, measure.bench_name(OURS, "large")], "it may be the next incumbent"


def test_an_incumbent_that_the_bench_lacks_is_recorded_and_prepared_before_the_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a resumption, or in a new process: the request says all that a race needs."""
    processes = FakeProcesses([], raced(9.8))
    settled(monkeypatch, processes, INCUMBENT)
    name = measure.bench_name(BEST, "large")
    prepared = [message for message in processes.asked if isinstance(message, to_bench.Prepare)]
    assert [(message.key, message.least_bytes) for message in prepared] == [(name, 1 << 26), (measure.KEY, 1 << 26)]
    assert "race" in processes.verbs()


@pytest.mark.parametrize("slow", [1.0, 1.04, 2.0])
def test_a_candidate_has_the_same_time_on_a_slower_gpu(monkeypatch: pytest.MonkeyPatch, slow: float) -> None:
    race = Race([slow * 9.0] * 6, [slow * 10.0] * 6, KNOWN, True)
    timing = settled(monkeypatch, FakeProcesses([], race, slow, 9.0), INCUMBENT).timing
    assert timing is not None
    assert timing.median_us == pytest.approx(9.0)
    assert timing.samples_us == pytest.approx([9.0] * 6)
    assert timing.ci95_us == pytest.approx((9.0, 9.0))
    assert timing.clock_us == pytest.approx(slow * 9.0)
    assert timing.gained


@pytest.mark.parametrize(("ours_us", "stopped"), [(14.0, KNOWN), (16.0, measure.TOO_SLOW)])
def test_how_much_slower_is_hopeless_does_not_depend_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, ours_us: float, stopped: str
) -> None:
    """The clock of this GPU says 28 and 32 µs, and the incumbent took 10 where it was first timed."""
    race = Race([2 * ours_us] * 6, [20.0] * 6, KNOWN, False)
    timing = settled(monkeypatch, FakeProcesses([], race, 2.0, ours_us), INCUMBENT).timing
    assert timing is not None
    assert (timing.stopped, timing.gained) == (stopped, False)
    assert timing.median_us == pytest.approx(ours_us)


def test_what_is_timed_alone_is_not_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    timing = settled(monkeypatch, FakeProcesses([], slow=2.0), None).timing
    assert timing is not None
    assert (timing.median_us, timing.scale, timing.gained) == (20.0, 1.0, None)


def test_what_loses_its_race_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = FakeProcesses([], raced(12.0, LOST))
    settled(monkeypatch, processes, INCUMBENT)
    assert processes.prepared == [measure.bench_name(BEST, "large")]


@pytest.mark.parametrize(
    "incumbent",
    [
        None,
        Incumbent(candidate=OURS, times_us={"large": 10.0}),
        Incumbent(candidate=BEST, times_us={"other": 10.0}),
        Incumbent(candidate=Candidate(source="fails"), times_us={"large": 10.0}),
    ],
    ids=["none", "itself", "not timed on this case", "cannot be recorded any more"],
)
def test_without_an_incumbent_to_race_against_the_candidate_is_sampled_alone(
    monkeypatch: pytest.MonkeyPatch, incumbent: Incumbent | None
) -> None:
    processes = FakeProcesses(["large by an older one"])
    settled(monkeypatch, processes, incumbent)
    assert "race" not in processes.verbs()
    assert processes.prepared == [measure.bench_name(OURS, "large")]


def test_a_measurement_is_the_same_whatever_the_bench_did_before(monkeypatch: pytest.MonkeyPatch) -> None:
    known, fresh = FakeProcesses([measure.bench_name(BEST, "large")], raced(9.8)), FakeProcesses([], raced(9.8))
    assert settled(monkeypatch, known, INCUMBENT) == settled(monkeypatch, fresh, INCUMBENT)


@pytest.mark.parametrize(("nbytes", "is_there"), [(8, True), (9, False)])
def test_the_bench_keeps_one_plan_of_a_case_where_its_copies_have_room(nbytes: int, is_there: bool) -> None:
    bench = Bench("cpu")
    for name, case in (("best", "large"), ("older", "large"), ("another", "small")):
        bench.prepared[name] = Prepared(cast(Any, None), case, cast(Any, None))
    bench.shared["large"] = [torch.empty(8, dtype=torch.uint8)]
    assert bench.keep("large", "best", nbytes) is is_there
    assert [*bench.prepared] == ["best", "another"]
    assert not bench.keep("large", "", nbytes)
    assert [*bench.prepared] == ["another"]


def test_an_incumbent_on_copies_too_small_for_the_candidate_is_prepared_on_larger_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("empty_cache", None), ("mem_get_info", (1 << 20, 1 << 20)),
                        ("get_device_properties", SimpleNamespace(L2_cache_size=64))):  # fmt: skip
        monkeypatch.setattr(f"torch.cuda.{name}", lambda *_, value=value: value)
    bench, best = Bench(Path()), Prepared(cast(Any, None), "large", cast(Any, None))
    bench.device, bench.arena = "cpu", torch.zeros(16, dtype=torch.uint8)
    bench._copies("large", nbytes=8, touched_bytes=8, room=0)  # of a first candidate
    bench.prepared["best"] = best
    assert not bench.keep("large", "best", nbytes=16)
    bench._copies("large", nbytes=8, touched_bytes=8, room=16)
    bench.prepared["best"] = best
    bench._copies("large", nbytes=16, touched_bytes=16, room=0)  # of one with more scratch memory
    assert bench.keep("large", "best", nbytes=16)


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
    assert found.gained is gained
    half = len(found.ours_us) // 2
    assert max(found.ours_us[:half]) < 9.1
    assert abs(found.ours_us[-1] - after_us) < 0.1


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
        timed = SimpleNamespace(replays=20, run=lambda log=replayed: log.append(1))
        bench.prepared["candidate"] = Prepared(cast(Any, timed), "large", cast(Any, None))
        bench.wear("candidate")
        counts.add(len(replayed))
    assert counts == {11, 12}


class SlowedSite(FakeProcesses):
    """Samples of 10 µs, and readings of the clocks one after the other."""

    def __init__(self, *throttle: tuple[str, ...]) -> None:
        super().__init__([])
        self.throttle = iter(throttle)

    def ask_bench(self, message: Any, **sent: Any) -> Any:
        if isinstance(message, to_bench.Clocks):
            return Clocks(sm_mhz=1500, throttle=next(self.throttle))
        return super().ask_bench(message, **sent)


@pytest.mark.parametrize(
    ("readings", "sampled", "said"),
    [
        ([(), ()], 1, ()),
        ([(), ("power_cap",)], 1, ("power_cap",)),
        ([("hardware_thermal",), (), (), ()], 2, ()),
        ([(), ("power_brake",), ("power_brake",), ("power_cap",)], 2, ("power_brake", "power_cap")),
    ],
)
def test_a_time_under_a_forced_slowdown_is_taken_once_more_and_what_stays_is_said(
    readings: list[tuple[str, ...]], sampled: int, said: tuple[str, ...]
) -> None:
    site = SlowedSite(*readings)
    subject = FakeSubject(site, OURS)
    subject.prepare(["large"])
    timing = measure._timing(subject, "large", None, None)
    assert sum(isinstance(one, to_bench.Sample) for one in site.asked) == sampled
    assert timing.clocks is not None
    assert timing.clocks.throttle == said
    assert len(timing.samples_us) == (14 if sampled == 1 else 10), "samples under a slowdown are dropped"
