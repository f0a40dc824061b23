"""Every run that is kept in the repository, replayed without a GPU and without a model: the same events again.

The record answers in place of the model and of the worker (both in `Recorded`). A run that no longer
replays was broken by a change of a strategy, a proposer or the loop.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from fakes import FakeProposer, FakeWorker, step
from kernelwright.journal import Event, EventKind, Journal, fold
from kernelwright.model import (
    Budget,
    Candidate,
    Evaluation,
    Incumbent,
    Operator,
    Profile,
    Proposal,
    Request,
    RunInfo,
    Scalar,
    Trial,
)
from kernelwright.propose import Context, build_proposer
from kernelwright.report.framework import BENCH
from kernelwright.report.text import report_text
from kernelwright.report.trace import trace_files
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import read_run
from kernelwright.run import optimize
from kernelwright.run.replay import replay
from kernelwright.search import Strategy, build_strategy
from running import Create
from running import run as run_once

ROOT = Path(__file__).parents[2]
GALLERY, FURTHER = ROOT / "gallery", ROOT / "benchmarks/further"
RUNS = sorted(journal.parent for place in (GALLERY, FURTHER) for journal in place.glob("*/runs/*/journal.db"))
TURN_S = 30.0
"""An evaluation whose turn does not come in this time never will: the replay has parted from the record."""

every_run = pytest.mark.parametrize("run", RUNS, ids=[f"{run.parents[1].name}-{run.name}" for run in RUNS])


@pytest.fixture
def recorded(run: Path, tmp_path: Path) -> Iterator[Journal]:
    """A copy: SQLite may write beside a database that it only reads."""
    shutil.copytree(run, tmp_path / run.name)
    with Journal.open(tmp_path / run.name) as journal:
        yield journal


class Recorded:
    """The worker and the proposer of a record: each answer is held back until it is its turn in the record."""

    def __init__(self, run: Path, events: list[Event]) -> None:
        self._proposer = build_proposer("replay", {"run": str(run)})
        self._candidates = {e.number: e.payload.candidate for e in events if isinstance(e.payload, Proposal)}
        self.profiles = {profile.case + profile.implementation: profile for seen in fold(events).profiled.values()
                         for profile in seen}  # fmt: skip
        self._ends = [event for event in events if ends(event)]
        self._seen = 0
        self._turn = threading.Condition()

    def propose(self, request: Request, context: Context) -> Proposal | None:
        """An answer that the loop carries on by itself (no candidate, or one that was evaluated before) waits here."""
        end = next(event for event in self._ends if event.number == request.number)
        if isinstance(end.payload, Proposal) or is_copy(end.payload):
            self._wait(lambda event: event.number == request.number, f"proposal {request.number}")
        return self._proposer.propose(request, context)

    def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
        kind = EventKind.CONFIRMED if purpose == "confirm" else EventKind.EVALUATED
        turn = self._wait(
            lambda event: event.kind is kind and self._candidates[event.number] == candidate,
            f"{kind.value} of {candidate.id}",
        )
        assert isinstance(turn.payload, Evaluation)
        return turn.payload

    def look(self, implementation: Candidate | str, case: str, full: bool) -> Profile:
        assert isinstance(implementation, Candidate)
        return self.profiles[case + implementation.id]

    def saw(self, event: Event) -> None:
        """The loop has written an event; only then is it the next one's turn."""
        if ends(event):
            with self._turn:
                self._seen += 1
                self._turn.notify_all()

    def _wait(self, is_mine: Callable[[Event], bool], what: str) -> Event:
        with self._turn:
            if not self._turn.wait_for(lambda: is_mine(self._ends[self._seen]), TURN_S):
                raise AssertionError(f"{what} is not what the record has next: {self._ends[self._seen]}")
            return self._ends[self._seen]


def strategy_of(info: RunInfo) -> Strategy:
    settings = info.settings
    known = [known.candidate for known in info.known]
    return build_strategy(settings.strategy, info.starter, settings.seed, settings.strategy_options, known)


def ends(event: Event) -> bool:
    """Whether a trial, or a confirmation, is finished by it."""
    return isinstance(event.payload, Evaluation) or (
        isinstance(event.payload, Proposal) and event.payload.candidate is None
    )


def is_copy(payload: object) -> bool:
    return isinstance(payload, Evaluation) and payload.reason.startswith("the same candidate as trial")


def by_trial(events: list[Event]) -> dict[int, list[tuple[str, object]]]:
    """What happened to each trial, in order; who proposed and what it cost left out, as that is the replay's own."""
    found: dict[int, list[tuple[str, object]]] = {}
    for event in events:
        if event.number is None:
            continue
        payload: object = event.payload
        if isinstance(payload, Proposal):
            payload = (payload.candidate, payload.error)
        found.setdefault(event.number, []).append((event.kind.value, payload))
    return found


def order(events: list[Event], *kinds: EventKind) -> list[tuple[str, int | None]]:
    return [(event.kind.value, event.number) for event in events if event.kind in kinds]


def test_every_run_that_is_kept_is_replayed() -> None:
    assert {path for place in (GALLERY, FURTHER) for path in place.glob("*/runs/*") if path.is_dir()} == set(RUNS)
    assert GALLERY / "rmsnorm" / "runs" / "mailbox" in RUNS


@every_run
def test_the_strategy_asks_at_every_event_what_it_asked_then(recorded: Journal) -> None:
    info, events = recorded.info, recorded.events()
    state = replay(events, strategy_of(info), recorded.folder)
    assert len(state.told) == len(recorded.trials())


@every_run
def test_the_loop_makes_the_same_run_again_event_for_event(recorded: Journal, tmp_path: Path) -> None:
    made_again(recorded, tmp_path / "again")


@pytest.mark.parametrize("strategy", ["beam", "evolve", "greedy"])
def test_a_run_with_repairs_mergers_tunings_copies_and_useless_answers_is_made_again_too(
    create: Create, tmp_path: Path, strategy: str
) -> None:
    """What the kept runs may not hold, several requests under way at once."""

    def write(request: Request, context: Context) -> Proposal:
        if request.number % 11 == 7:
            return Proposal(author="fake", error="no code")
        if request.number % 7 == 5:
            return Proposal(author="fake", candidate=Candidate(source="BLOCK = 128\n"))
        return step(request, context)

    options: dict[str, Scalar] = {"operators": "portfolio", "tuning": 2}
    journal = create(strategy=strategy, strategy_options=options, in_flight=3)
    run_once(journal, FakeProposer(write, at_once=True), budget=Budget(trials=60))
    operators = {trial.request.operator for trial in journal.trials()}
    assert operators >= {Operator.SEED, Operator.IMPROVE, Operator.REPAIR, Operator.TUNE}
    assert any(is_copy(trial.evaluation) for trial in journal.trials())
    made_again(journal, tmp_path / "again")


def test_a_run_that_went_on_after_its_best_was_confirmed_is_made_again_with_both_confirmations(
    create: Create, tmp_path: Path
) -> None:
    journal = create(strategy="greedy", in_flight=2)
    for trials in (3, 12):
        run_once(journal, FakeProposer(step), budget=Budget(trials=trials))
    assert len(fold(journal.events()).confirmations) == 2
    made_again(journal, tmp_path / "again")


def stops(events: list[Event]) -> list[int]:
    """How many trials the run had each time it was ended and its best confirmed, and at its end."""
    asked, found = 0, set()
    for event in events:
        asked += event.kind is EventKind.ASKED
        if event.kind is EventKind.CONFIRMED:
            found.add(asked)
    return sorted({*found, asked})


class Until:
    """A strategy that asks for nothing after `most` requests, tunings included."""

    def __init__(self, strategy: Strategy, most: int) -> None:
        self._strategy, self._left = strategy, most

    def ask(self) -> Request | None:
        request = self._strategy.ask() if self._left else None
        self._left -= request is not None
        return request

    def tell(self, trial: Trial) -> None:
        self._strategy.tell(trial)


def made_again(recorded: Journal, folder: Path) -> None:
    """The run of a journal, again, held against it."""
    info, events = recorded.info, recorded.events()
    trials = len(recorded.trials())
    # All at once: an evaluation must not wait for one that was not asked yet.
    settings = msgspec.structs.replace(info.settings, in_flight=trials)
    record = Recorded(recorded.folder, events)
    worker = FakeWorker(answer=record.evaluate, look=record.look, where=info.environment, problem=info.problem)
    with Journal.create(folder, msgspec.structs.replace(info, settings=settings)) as journal:
        proposer = FakeProposer(record.propose, shows_profiles=bool(record.profiles))
        for stop in stops(events):
            until = Until(strategy_of(info), stop)
            optimize(journal, until, proposer, worker, budget=Budget(), on_event=record.saw)
        again = journal.events()
        assert by_trial(again) == by_trial(events)
        told = (EventKind.EVALUATED, EventKind.TOLD, EventKind.CONFIRMED)
        assert order(again, *told) == order(events, *told)
        assert order(again, EventKind.ASKED) == order(events, EventKind.ASKED)
        if (measured := recorded.folder / BENCH).exists():  # beside PyTorch, which a replay cannot measure
            shutil.copyfile(measured, folder / BENCH)
        assert (
            verdict_text(read_run(journal)).partition("\ntrial")[0]
            == (verdict_text(read_run(recorded)).partition("\ntrial")[0])
        )


@every_run
def test_its_views_can_be_made_again_from_its_journal_alone(recorded: Journal) -> None:
    view = read_run(recorded)
    assert view.best is not None
    assert f"trial {view.best.number}" in report_text(view)
    files = trace_files(view)
    assert {name.split("/")[0] for name in files} >= {f"round_{trial.request.round:02d}" for trial in view.trials}
    prompted = [trial for trial in view.trials if trial.proposal.prompt is not None]
    assert sum(name.endswith(("opt_prompt.txt", ".prompt.txt")) for name in files) == len(prompted) > 0
