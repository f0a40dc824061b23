"""The laws of the dispatch of jobs to lanes, over generated histories of deaths, restarts and outside causes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from kernelwright.evaluator.dispatch import MOST_EXCUSED, MOST_LOSSES, RECOVERED, TOGETHER_S, Dispatch, Where

SEEDS = range(60)
MOST_STEPS = 20_000


@dataclass
class History:
    """Lanes that come up, work and die, while jobs come one by one. killers: jobs that take their lane down whenever
    they are done. sick: lanes that die at each of their steps with this chance. asked: the chance of a lane to be asked
    to end."""

    draw: random.Random
    lanes: int
    killers: set[int] = field(default_factory=set)
    sick: dict[str, float] = field(default_factory=dict)
    asked: float = 0.0
    finished: list[int] = field(default_factory=list)
    blamed: list[int] = field(default_factory=list)
    tries: dict[int, list[str]] = field(default_factory=dict)
    """By job, the lanes on which it was begun."""
    homes: list[str] = field(default_factory=list)
    """The lanes of jobs for the home, as they began, one entry for each change."""
    losses: int = 0
    to_come: int = 0
    step_s: float = 2 * TOGETHER_S
    """Between two steps: by default no two losses are at about the same time."""
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.dispatch = Dispatch([f"lane {number}" for number in range(self.lanes)])

    def play(self, jobs: int) -> None:
        self.to_come = jobs
        for _ in range(MOST_STEPS):
            if self.to_come and (self.draw.random() < 0.5 or self.dispatch.is_hopeless):
                kind = self.draw.choice([Where.ANY, Where.ANY, Where.ANY, Where.HOME])
                self.dispatch.submit(kind, self.draw.choice([None, *self.dispatch.lanes]))
                self.to_come -= 1
            self._begin()
            if not self.to_come and (not self.dispatch.jobs or self.dispatch.is_hopeless):
                return
            self._step()
        raise AssertionError(f"it does not end: {self.dispatch.jobs}")

    def _begin(self) -> None:
        for job, name in self.dispatch.starts():
            one, others = self.dispatch.jobs[job], self.dispatch.lanes[name].jobs - {job}
            assert self.dispatch.lanes[name].ready
            assert not any(self.dispatch.jobs[other].is_suspect for other in others), "it is alone on its lane"
            if one.is_suspect:
                assert not others, "it is alone on its lane"
                if one.where is Where.ANY:
                    others_left = [n for n, lane in self.dispatch.lanes.items() if not lane.is_out and n != name]
                    assert name not in one.lost_on or not others_left, "it is done elsewhere"
            if one.where is Where.HOME:
                assert name == self.dispatch.home
                if self.homes[-1:] != [name]:
                    self.homes.append(name)
            self.tries.setdefault(job, []).append(name)

    def _step(self) -> None:
        self.now_s += self.step_s
        name = self.draw.choice([*self.dispatch.lanes])
        lane = self.dispatch.lanes[name]
        if lane.is_out:
            return
        if self.draw.random() < self.sick.get(name, 0.0):
            self._lose(name)
        elif not lane.ready and not lane.jobs:
            self.dispatch.up(name)
        elif self.draw.random() < self.asked:
            self._lose(name, from_outside=True)
        elif lane.jobs:
            job = self.draw.choice(sorted(lane.jobs))
            if job in self.killers:
                self._lose(name)
            else:
                self.dispatch.finished(job)
                self.finished.append(job)

    def _lose(self, name: str, from_outside: bool = False) -> None:
        self.losses += 1
        self.blamed += self.dispatch.lost(name, self.now_s, from_outside)


@pytest.mark.parametrize("seed", SEEDS)
def test_exactly_the_jobs_that_take_lanes_down_are_blamed_and_every_other_is_done_once(seed: int) -> None:
    draw = random.Random(seed)
    history = History(draw, draw.randint(1, 6), killers=set(draw.sample(range(1, 41), draw.randint(0, 8))))
    history.play(40)
    assert not history.dispatch.is_hopeless
    assert sorted(history.blamed) == sorted(history.killers)
    assert sorted(history.finished) == sorted(set(range(1, 41)) - history.killers)
    assert all(len(history.tries[job]) == 2 for job in history.killers)


@pytest.mark.parametrize("seed", SEEDS)
def test_killers_that_come_close_together_excuse_each_other_a_few_times_at_most(seed: int) -> None:
    draw = random.Random(seed)
    killers = set(draw.sample(range(1, 41), draw.randint(2, 4)))
    history = History(draw, draw.randint(8, 12), killers=killers, step_s=0.01)
    history.play(40)
    assert not history.dispatch.is_hopeless
    assert sorted(history.blamed) == sorted(history.killers)
    assert sorted(history.finished) == sorted(set(range(1, 41)) - history.killers)
    assert all(2 <= len(history.tries[job]) <= 2 + MOST_EXCUSED for job in history.killers)


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_that_are_lost_together_blame_no_candidate(seed: int) -> None:
    """A host goes down, comes back, and goes down again."""
    draw = random.Random(seed)
    names = [f"lane {number}" for number in range(draw.randint(2, 6))]
    dispatch = Dispatch(names)
    jobs = [dispatch.submit(Where.ANY) for _ in range(4 * len(names))]
    for began_s in (0.0, 100.0):
        for name in names:
            dispatch.up(name)
        dispatch.starts()
        for name in draw.sample(names, len(names)):
            assert dispatch.lost(name, began_s + draw.uniform(0, TOGETHER_S)) == []
    assert sorted(dispatch.jobs) == jobs


def test_two_losses_under_one_candidate_count_however_close_they_are() -> None:
    for apart_s in (1.0, 2 * TOGETHER_S):
        dispatch = Dispatch(["a", "b"])
        for name in dispatch.lanes:
            dispatch.up(name)
        job = dispatch.submit(Where.ANY)
        [(_, first)] = dispatch.starts()
        assert dispatch.lost(first, 0.0) == []
        [(_, second)] = dispatch.starts()
        assert dispatch.lost(second, apart_s) == [job]


def test_of_a_lane_that_is_ended_for_a_late_answer_only_the_late_job_is_suspect() -> None:
    dispatch = Dispatch(["a", "b"])
    dispatch.up("a")
    late, other = dispatch.submit(Where.ANY), dispatch.submit(Where.ANY)
    dispatch.starts()
    assert dispatch.lost("a", 0.0, overdue={late}) == []
    dispatch.up("b")
    assert dispatch.jobs[late].is_suspect
    assert not dispatch.jobs[other].is_suspect
    assert dispatch.starts() == [(late, "b")], "alone, before the others"
    assert dispatch.lost("b", 1.0, overdue={late}) == [late]


def test_a_lane_that_is_let_in_again_has_one_chance_until_it_has_recovered() -> None:
    dispatch = Dispatch(["a", "b"])
    for _ in range(MOST_LOSSES):
        dispatch.lost("a", 0.0)
    assert dispatch.lanes["a"].is_out
    dispatch.let_in("a")
    assert not dispatch.lanes["a"].is_out
    dispatch.lost("a", 600.0)
    assert dispatch.lanes["a"].is_out
    dispatch.leave_out("b", 600.0)
    dispatch.let_in("b")
    assert dispatch.lanes["b"].is_out, "what cannot do the work will not be able to"


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_asked_to_end_blames_nobody_and_nothing_is_lost(seed: int) -> None:
    draw = random.Random(seed)
    history = History(draw, draw.randint(2, 6), asked=0.02)
    history.play(40)
    assert history.blamed == []
    assert sorted([*history.finished, *history.dispatch.jobs]) == list(range(1, 41))
    assert history.dispatch.is_hopeless or not history.dispatch.jobs


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lane_that_keeps_dying_is_out_and_the_others_do_all_the_work(seed: int) -> None:
    draw = random.Random(seed)
    history = History(draw, draw.randint(3, 6), sick={"lane 0": 0.6})
    history.play(60)
    assert sorted(history.finished) == list(range(1, 61))
    assert history.blamed == [], "each second try is on a lane that does not die"
    assert history.losses <= MOST_LOSSES


@pytest.mark.parametrize("seed", SEEDS)
def test_when_every_lane_dies_all_that_is_not_done_still_waits(seed: int) -> None:
    draw = random.Random(seed)
    lanes = draw.randint(1, 4)
    history = History(draw, lanes, sick={f"lane {number}": 0.9 for number in range(lanes)})
    history.play(30)
    assert history.dispatch.is_hopeless
    assert sorted([*history.finished, *history.blamed, *history.dispatch.jobs]) == list(range(1, 31))
    assert all(job.lane is None for job in history.dispatch.jobs.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_for_the_home_stay_on_one_lane_until_it_is_lost(seed: int) -> None:
    draw = random.Random(seed)
    history = History(draw, 4, killers=set(draw.sample(range(1, 31), 3)), asked=0.01)
    history.play(30)
    assert len(history.homes) <= 1 + history.losses


def test_without_losses_the_home_is_the_first_lane_that_was_ready() -> None:
    dispatch = Dispatch(["a", "b"])
    dispatch.up("b")
    dispatch.up("a")
    jobs = [dispatch.submit(Where.HOME) for _ in range(5)]
    assert dispatch.starts() == [(job, "b") for job in jobs]


def test_a_job_goes_to_the_lane_with_the_least_to_do_unless_another_has_begun_it() -> None:
    dispatch = Dispatch(["a", "b", "c"])
    for name in dispatch.lanes:
        dispatch.up(name)
    jobs = [dispatch.submit(Where.ANY) for _ in range(6)]
    assert sorted(lane for _, lane in dispatch.starts()) == ["a", "a", "b", "b", "c", "c"]
    first = dispatch.jobs[jobs[0]].lane
    dispatch.finished(jobs[0])
    dispatch.submit(Where.ANY)
    assert [lane for _, lane in dispatch.starts()] == [first]
    dispatch.submit(Where.ANY, prefers="b")
    assert [lane for _, lane in dispatch.starts()] == ["b"]


def test_a_lane_that_works_again_is_forgiven_its_losses() -> None:
    dispatch = Dispatch(["a"])
    for _ in range(4 * MOST_LOSSES):
        dispatch.up("a")
        for _ in range(RECOVERED):
            job = dispatch.submit(Where.ANY)
            dispatch.starts()
            dispatch.finished(job)
        dispatch.lost("a", 0.0)
    assert not dispatch.is_hopeless


def test_a_lane_that_prepares_gets_no_job() -> None:
    dispatch = Dispatch(["a"])
    dispatch.up("a")
    dispatch.down("a")
    dispatch.submit(Where.ANY)
    assert dispatch.starts() == []
    dispatch.up("a")
    assert len(dispatch.starts()) == 1


def test_a_result_that_came_before_its_lane_was_lost_is_not_asked_for_again() -> None:
    dispatch = Dispatch(["a", "b"])
    dispatch.up("a")
    job = dispatch.submit(Where.ANY)
    dispatch.starts()
    dispatch.lost("a", 0.0)
    dispatch.finished(job)
    dispatch.up("b")
    assert dispatch.starts() == []
