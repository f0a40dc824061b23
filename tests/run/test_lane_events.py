"""A search on several lanes: the journal has what happened to each, and where each evaluation was made."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fakes import FakeProposer, run_info
from kernelwright.errors import RunFolderError
from kernelwright.journal import Event, EventKind, Journal, fold
from kernelwright.model import Budget, Candidate, LaneChange
from kernelwright.run import optimize
from kernelwright.search import build_strategy
from lanes import FakeLane, Lanes


def searched(folder: Path, lanes: Lanes, trials: int = 12) -> list[Event]:
    is_new = not (folder / "journal.db").exists()
    info = run_info(strategy="random", in_flight=4)
    with lanes.fleet() as fleet:
        fleet.load("problem.py")
        while len([lane for lane in fleet._dispatch.lanes.values() if lane.ready]) < len(lanes.started):
            pass
        with Journal.create(folder, info) if is_new else Journal.open(folder, writable=True) as journal:
            strategy = build_strategy("random", info.starter, 0, {"ahead": 4, "patience": trials})
            optimize(journal, strategy, FakeProposer(), fleet, budget=Budget(trials=trials))
            return journal.history()


def changes(events: list[Event]) -> list[LaneChange]:
    return [event.payload for event in events if isinstance(event.payload, LaneChange)]


def test_each_evaluation_says_its_lane_and_the_lanes_come_up_when_the_session_begins(tmp_path: Path) -> None:
    lanes = Lanes(2, together=True)
    events = searched(tmp_path / "run", lanes)
    assert [(one.lane, one.what, one.device, one.gpu) for one in changes(events)] == [
        ("lane 0", "up", "Fake GPU", "GPU-0"), ("lane 1", "up", "Fake GPU", "GPU-1"),
    ]  # fmt: skip
    judged = [event.payload for event in events if event.kind is EventKind.EVALUATED]
    made = [one for one in judged if not one.reason.startswith("the same candidate")]  # type: ignore[union-attr]
    assert {one.lane for one in made} == {"lane 0", "lane 1"}  # type: ignore[union-attr]
    tally = fold(events).lanes
    confirmed = sum(event.kind is EventKind.CONFIRMED for event in events)
    assert sum(lane.evaluations for lane in tally.values()) == len(made) + confirmed
    again = searched(tmp_path / "run", Lanes(1), trials=16)
    assert [one.lane for one in changes(again)] == ["lane 0", "lane 1", "lane 0"]
    assert fold(again).lanes["lane 1"].since_s is None, "it is not of this session"


def test_a_loss_is_recorded_with_what_was_lost(tmp_path: Path) -> None:
    died = threading.Event()

    def once(lane: FakeLane, candidate: Candidate) -> bool:
        if lane.hello.gpu == "GPU-1" and not died.is_set():
            died.set()
            return True
        return False

    events = searched(tmp_path / "run", Lanes(2, together=True, dies=once), trials=24)
    found = [(one.lane, one.what) for one in changes(events)]
    assert found[2] == ("lane 1", "lost")
    loss = changes(events)[2]
    assert loss.evaluations >= 1
    assert loss.seconds > 0
    assert "ended without an answer" in loss.reason
    tally = fold(events).lanes
    assert tally["lane 1"].losses == 1
    assert tally.lost_s == loss.seconds


def test_a_lane_s_figures_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with Journal.create(tmp_path / "run", run_info()) as journal:
        journal.append_lane(LaneChange(lane="a", what="lost", seconds=-1.0))
        with pytest.raises(RunFolderError, match="it lost 0 evaluations"):
            journal.history()
