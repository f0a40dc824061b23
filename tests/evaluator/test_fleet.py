"""A worker made of lanes, with fakes that die: each answer comes once, from a lane that is alive."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import SimpleNamespace

import msgspec
import pytest

from fakes import evaluation_of
from kernelwright.errors import MachineError, ProblemError, Unreachable, WorkerError, WorkerLost
from kernelwright.evaluator.attempts import ANSWER_S
from kernelwright.evaluator.dispatch import MOST_LOSSES
from kernelwright.evaluator.fleet import Fleet
from kernelwright.model import Candidate, Evaluation, Incumbent, Status
from kernelwright.worker.processes.limits import Limits
from lanes import HELLO, FakeLane, Lanes


def text(number: int) -> Candidate:
    return Candidate(source=f"BLOCK = {8 << number % 8}\n# number {number}\n")


LEADER = Incumbent(candidate=text(0), times_us={"big": 100.0})


def evaluated(fleet: Fleet, count: int, at_once: int = 8) -> list[Evaluation]:
    """Of different candidates, which race against a leader."""
    with ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(lambda n: fleet.evaluate(text(n), "search", LEADER), range(1, count + 1)))


def asked(lanes: Lanes) -> list[str]:
    return [what for lane in lanes.workers for what in lane.done]


def until_ready(fleet: Fleet, count: int) -> None:
    """Wait until this many lanes of a fleet can have work."""
    while sum(lane.ready for lane in fleet._dispatch.lanes.values()) < count:
        pass


def test_evaluations_go_to_every_lane_and_each_is_made_once() -> None:
    lanes = Lanes(3, together=True)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        found = evaluated(fleet, 60)
    assert [one.score_us for one in found] == [evaluation_of(text(n), "search").score_us for n in range(1, 61)]
    made = [what for what in asked(lanes) if what.startswith("search")]
    assert len(made) == len(set(made)) == 60
    assert all(any("search" in what for what in lane.done) for lane in lanes.workers)
    assert all(lane.closed for lane in lanes.workers)


def test_a_lane_that_dies_in_the_middle_changes_no_result() -> None:
    died = threading.Event()

    def once(lane: FakeLane, candidate: Candidate) -> bool:
        if candidate == text(20) and not died.is_set():
            died.set()
            return True
        return False

    lanes = Lanes(2, delay_s=0.01, dies=once)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        fleet.qualify()
        found = evaluated(fleet, 60)
    assert [one.score_us for one in found] == [evaluation_of(text(n), "search").score_us for n in range(1, 61)]
    assert died.is_set()


def test_a_lane_that_is_started_again_does_what_the_others_did_first() -> None:
    lanes = Lanes(1, dies=lambda lane, candidate: len(lanes.workers) == 1)
    with lanes.fleet() as fleet:
        fleet.load("first.py")
        fleet.load("problem.py")
        fleet.qualify()
        assert fleet.evaluate(text(1), "search", LEADER).status is Status.PASSED
    first, second = lanes.workers
    assert first.done == ["load first.py", "load problem.py", "qualify"]
    assert second.done[:2] == ["load problem.py", "qualify"]
    assert first.closed


def test_a_candidate_under_which_two_lanes_die_is_at_fault_and_the_rest_goes_on() -> None:
    lanes = Lanes(2, dies=lambda lane, candidate: candidate == text(5))
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        found = evaluated(fleet, 20)
    assert [n for n, one in enumerate(found, 1) if one.status is not Status.PASSED] == [5]
    assert found[4].status is Status.CRASHED
    assert found[4].reason.startswith("two workers were lost while they worked on it")


@dataclass
class Silent(FakeLane):
    """Does not answer where its `dies` says so, and ends when it is closed."""

    ended: threading.Event = field(default_factory=threading.Event)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        if self.dies(self, candidate):
            self.ended.wait(600)
            raise WorkerLost("the worker ended without an answer")
        return msgspec.structs.replace(evaluation_of(candidate, purpose), gpu=self.hello.gpu or "")

    def close(self) -> None:
        self.ended.set()
        super().close()


def test_a_lane_that_neither_answers_nor_dies_is_ended_and_its_candidate_tried_elsewhere_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a clock that moves only while nothing else is judged."""
    now_s = [0.0]
    monkeypatch.setattr("kernelwright.evaluator.fleet.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr("kernelwright.evaluator.fleet.LOOK_S", 0.05)
    started: list[Silent] = []
    hung: SimpleQueue[Candidate] = SimpleQueue()
    tries: Counter[str] = Counter()

    def hangs(lane: FakeLane, candidate: Candidate) -> bool:
        """The seventh always, the third once."""
        tries[candidate.source] += 1
        is_hung = candidate == text(7) or (candidate == text(3) and tries[candidate.source] == 1)
        if is_hung:
            hung.put(candidate)
        return is_hung

    def start(number: int) -> Silent:
        started.append(Silent(hello=msgspec.structs.replace(HELLO, gpu=f"GPU-{number}"), dies=hangs))
        return started[-1]

    with Fleet({name: lambda n=n: start(n) for n, name in enumerate("ab")}) as fleet, ThreadPoolExecutor(1) as threads:
        fleet.load("problem.py")
        for number, times in ((7, 2), (3, 1)):
            judging = threads.submit(fleet.evaluate, text(number), "search", LEADER)
            for _ in range(times):
                assert hung.get(timeout=600) == text(number)
                assert fleet.evaluate(text(8), "search", LEADER).status is Status.PASSED
                now_s[0] += ANSWER_S
            found = judging.result(600)
            assert found.status is (Status.TIMEOUT if number == 7 else Status.PASSED)
            if number == 7:
                assert "an evaluation exceeded its time limit, 900 s" in found.reason
    assert (tries[text(3).source], tries[text(7).source]) == (2, 2)
    assert all(lane.closed for lane in started)


def test_an_answer_is_late_only_after_the_longest_stage_of_an_evaluation() -> None:
    limits = msgspec.structs.asdict(Limits())
    stages = set(limits) - {"generate_s", "profile_s", "baseline_s"}
    assert max(limits[stage] for stage in stages) + limits["judge_s"] <= ANSWER_S


def test_a_lane_that_was_left_out_comes_back_after_its_quarantine(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.evaluator.fleet.LOOK_S", 0.05)
    lanes = Lanes(2, delay_s=0.02)
    lanes.refusals = {"lane 1": WorkerLost("its host is gone")}
    fleet = Fleet({name: lambda name=name: lanes._start(name) for name in lanes.started}, quarantine_s=0.3)
    with fleet:
        fleet.load("problem.py")
        while "3 losses, left out for 0.3 s" not in caplog.text:
            fleet.evaluate(text(1), "search", LEADER)
        lanes.refusals = {}
        numbers = itertools.count(10)
        while not any("search" in what for lane in lanes.started["lane 1"] for what in lane.done):
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(lambda n: fleet.evaluate(text(n), "search", LEADER), itertools.islice(numbers, 4)))


def test_a_host_that_was_reached_and_cannot_be_now_is_tried_again_and_one_that_never_was_is_left_out() -> None:
    lanes = Lanes(3)
    lanes.refusals = {"lane 2": Unreachable("no such host")}
    heard: list[tuple[str, str]] = []
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        fleet.watch(lambda change: heard.append((change.lane, change.what)))
        fleet.evaluate(text(1), "search", LEADER)
        lanes.refusals["lane 1"] = Unreachable("it is rebooting")
        fleet._lost("lane 1", fleet._workers["lane 1"], WorkerLost("it ended"))
        while ("lane 1", "quarantined") not in heard:
            pass
    assert ("lane 1", "left out") not in heard
    assert fleet._dispatch.lanes["lane 2"].is_unfit
    assert not fleet._dispatch.lanes["lane 1"].is_unfit


def test_who_watches_hears_of_losses_returns_quarantine_and_lanes_that_are_left_out() -> None:
    heard: list[tuple[str, str]] = []
    lanes = Lanes(2)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        fleet.watch(lambda change: heard.append((change.lane, change.what)))

        def wait_for(lane: str, what: str, count: int = 1) -> None:
            while heard.count((lane, what)) < count:
                pass

        for name in lanes.started:
            wait_for(name, "up")
        for _ in range(MOST_LOSSES):
            ups = heard.count(("lane 1", "up"))
            worker = fleet._workers["lane 1"]
            fleet._lost("lane 1", worker, WorkerLost("it ended"))
            if ("lane 1", "quarantined") not in heard:
                wait_for("lane 1", "up", ups + 1)
        assert heard.count(("lane 1", "lost")) == MOST_LOSSES
        assert heard[-1] == ("lane 1", "quarantined")
        lanes.refusals = {"lane 0": MachineError("its driver was changed")}
        fleet._lost("lane 0", fleet._workers["lane 0"], WorkerLost("it ended"))
        wait_for("lane 0", "left out")
        fleet.watch(None)
        before = len(heard)
        with pytest.raises(WorkerError, match="no lane is left"):
            fleet.evaluate(text(2), "search", LEADER)
    assert len(heard) == before


def test_nothing_is_lost_when_every_lane_goes() -> None:
    """The search ends with an error, and can be resumed; no candidate is blamed."""
    lanes = Lanes(2)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        for worker in lanes.workers:
            worker.is_dead = True
        lanes.refusals = dict.fromkeys(lanes.started, MachineError("the driver is gone"))
        with pytest.raises(WorkerError, match="no lane is left: the driver is gone"):
            fleet.evaluate(text(1), "search", LEADER)


def test_what_is_not_compared_by_ratios_stays_on_one_lane() -> None:
    lanes = Lanes(3, delay_s=0.02)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        with ThreadPoolExecutor(9) as threads:
            list(threads.map(lambda n: fleet.evaluate(text(n), ("confirm", "verify")[n % 2]), range(27)))
        fleet.bench({"best": text(1), "starter": text(2)}, against="starter")
    assert sum(bool(lane.calls) for lane in lanes.workers) == 1
    (home,) = [lane for lane in lanes.workers if lane.calls]
    assert home.benched == 1


def test_until_something_passed_one_lane_times_alone_and_then_all_race_against_it() -> None:
    lanes = Lanes(3, together=True)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        until_ready(fleet, 3)
        with ThreadPoolExecutor(24) as threads:
            found = list(threads.map(lambda n: fleet.evaluate(text(n), "search", None), range(24)))
    assert all(one.status is Status.PASSED for one in found)
    alone = [lane for lane in lanes.workers if None in lane.incumbents]
    assert len(alone) == 1
    assert all(lane.calls for lane in lanes.workers), "the others do not wait for one lane"
    raced = {one.candidate.id for lane in lanes.workers for one in lane.incumbents if one is not None}
    assert len(raced) == 1


def test_what_is_timed_before_anything_passed_meets_no_time_of_another_gpu() -> None:
    """The home was lost after the starter was timed there, while others without an incumbent were under way."""
    lanes = Lanes(2)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        fleet.evaluate(text(0), "search", None)
        home = next(lane for lane in lanes.workers if lane.calls)
        home.is_dead = True
        lanes.refusals = {name: MachineError("it is gone") for name, one in lanes.started.items() if home in one}
        found = fleet.evaluate(text(1), "search", None)
    other = next(lane for lane in lanes.workers if lane.hello.gpu == found.gpu)
    assert other is not home
    assert [one and one.candidate for one in other.incumbents] == [text(0)]


def test_on_a_machine_without_gpus_every_lane_judges() -> None:
    lanes = Lanes(2, together=True)
    lanes.hellos = dict.fromkeys(lanes.started, msgspec.structs.replace(HELLO, device=None, gpu=None))
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        until_ready(fleet, 2)  # a lane without a GPU takes all four, and the other one none, where it alone is there
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda n: fleet.evaluate(text(n), "search", None), range(8)))
    assert all(lane.calls for lane in lanes.workers)


def test_another_gpu_repeats_what_was_found_where_there_is_one() -> None:
    lanes = Lanes(2)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        home = fleet.evaluate(text(0), "confirm").gpu
        while (other := fleet.elsewhere()) is None:
            pass
        assert other.evaluate(text(0), "confirm").gpu != home
    with Lanes(1).fleet() as fleet:
        assert fleet.elsewhere() is None


def test_a_lane_of_another_kind_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    lanes = Lanes(2)
    lanes.hellos["lane 1"] = msgspec.structs.replace(HELLO, device="Other GPU", gpu="GPU-1")
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        evaluated(fleet, 20)
        while not caplog.records:
            pass
    assert len({lane.hello.device for lane in lanes.workers if lane.calls}) == 1
    assert "it differs from the other lanes: device" in caplog.text


def test_where_no_lane_starts_the_reason_is_said() -> None:
    lanes = Lanes(2)
    lanes.refusals = dict.fromkeys(lanes.started, MachineError("no torch here", "pip install torch"))
    with pytest.raises(MachineError, match="no torch here"):
        lanes.fleet()


def test_a_fault_of_our_own_in_a_lane_is_said_and_not_waited_for() -> None:
    lanes = Lanes(1)
    lanes.refusals = {"lane 0": ValueError("a bug")}
    with pytest.raises(WorkerError, match="ValueError: a bug"):
        lanes.fleet()


def test_a_problem_that_cannot_be_loaded_is_no_fault_of_a_lane() -> None:
    lanes = Lanes(2, together=True)
    with lanes.fleet() as fleet:
        with pytest.raises(ProblemError, match="is none"):
            fleet.load("bad.py")
        assert fleet.load("problem.py").name == "double"
        assert len(evaluated(fleet, 10)) == 10
    assert all("load problem.py" in lane.done for lane in lanes.workers)


def test_a_fleet_that_is_closed_answers_those_who_wait() -> None:
    gate = threading.Event()
    lanes = Lanes(1, gate=gate, dies=lambda lane, candidate: True)
    fleet = lanes.fleet()
    fleet.load("problem.py")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(fleet.evaluate, text(1), "search", LEADER)
        fleet.close()
        gate.set()
        with pytest.raises(WorkerError, match="closed"):
            waiting.result(60)
