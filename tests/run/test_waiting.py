"""Requests that wait for a reply from outside: they hold up nothing else, and are taken up later."""

from __future__ import annotations

import threading

import pytest

from fakes import FakeProposer, FakeWorker, evaluation_of, step
from kernelwright.journal import Event, EventKind, fold
from kernelwright.model import Budget, Candidate, Evaluation, Operator, Proposal, Request
from kernelwright.propose.protocol import Context
from kernelwright.run import StopReason
from kernelwright.run.loop import Loop
from running import Create, run


def never(request: Request, context: Context) -> Proposal | None:
    return None


def test_a_run_whose_requests_all_wait_ends_and_takes_up_the_replies_when_resumed(create: Create) -> None:
    replies: set[int] = set()

    def mailbox(request: Request, context: Context) -> Proposal | None:
        return step(request, context) if request.number in replies else None

    journal = create(strategy_options={"width": 3, "rounds": 1}, in_flight=3)
    outcome = run(journal, FakeProposer(mailbox))
    assert (outcome.reason, outcome.waiting, outcome.best) == (StopReason.WAITING, (1, 2, 3), None)
    assert [request.number for request in fold(journal.events()).open_requests()] == [1, 2, 3]

    replies.add(2)
    outcome = run(journal, FakeProposer(mailbox))
    assert outcome.waiting == (1, 3)
    assert [trial.number for trial in journal.trials()] == [0, 2]

    replies.update({1, 3, 4, 5})
    outcome = run(journal, FakeProposer(mailbox))
    assert (outcome.reason, outcome.waiting) == (StopReason.FINISHED, ())
    assert outcome.best not in (None, outcome.seed)
    assert [trial.number for trial in journal.trials()] == list(range(len(journal.trials())))
    assert [session.reason for session in journal.sessions()] == ["waiting", "waiting", "finished"]


def test_a_reply_that_comes_while_another_trial_runs_is_taken_up_in_the_same_session(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    is_known_to_wait = threading.Event()
    proposed = Loop._take_proposal

    def noticed(self: Loop, number: int, event: Event | None) -> None:
        proposed(self, number, event)
        if event is None:
            is_known_to_wait.set()

    monkeypatch.setattr(Loop, "_take_proposal", noticed)

    def late(request: Request, context: Context) -> Proposal | None:
        asked.append(request.number)
        if request.number != 1 or asked.count(1) > 1:
            return step(request, context)
        return None

    def slow(candidate: Candidate, purpose: str) -> Evaluation:
        """After the first trial, not before the run knows that the reply is not there."""
        if asked:
            assert is_known_to_wait.wait(600)
        return evaluation_of(candidate, purpose)

    journal = create(strategy_options={"width": 2, "rounds": 1}, in_flight=2)
    outcome = run(journal, FakeProposer(late), FakeWorker(answer=slow))
    assert outcome.reason is StopReason.FINISHED
    assert asked.count(1) == 2


def test_a_question_that_was_being_written_when_a_trial_ended_is_written_again(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_told, known = threading.Event(), []
    tell = Loop._tell

    def noticed(self: Loop, number: int) -> None:
        tell(self, number)
        if number == 1:
            is_told.set()

    monkeypatch.setattr(Loop, "_tell", noticed)

    def slow(request: Request, context: Context) -> Proposal | None:
        if request.number == 1:
            return step(request, context)
        known.append([trial.number for trial in context.trials])
        assert is_told.wait(600)
        return None

    journal = create(strategy_options={"width": 2, "rounds": 1}, in_flight=2)
    outcome = run(journal, FakeProposer(slow))
    assert (outcome.reason, outcome.waiting) == (StopReason.WAITING, (2,))
    assert known[-1] == [0, 1]


def test_a_whole_round_waits_at_once_however_few_requests_may_be_under_way(create: Create) -> None:
    journal = create(strategy_options={"width": 6, "rounds": 1}, in_flight=1)
    outcome = run(journal, FakeProposer(never))
    assert (outcome.reason, outcome.waiting) == (StopReason.WAITING, (1, 2, 3, 4, 5, 6))


def test_what_waits_does_not_keep_others_from_being_evaluated(create: Create) -> None:
    """Every second request waits; with one slot, the others all get their turn in the first session."""

    def half(request: Request, context: Context) -> Proposal | None:
        return None if request.number % 2 else step(request, context)

    journal = create(strategy_options={"width": 4, "rounds": 1, "repairs": 0}, in_flight=1)
    outcome = run(journal, FakeProposer(half))
    assert outcome.waiting == (1, 3)
    assert [trial.number for trial in journal.trials()] == [0, 2, 4]


def test_a_budget_of_trials_holds_for_what_waits(create: Create) -> None:
    journal = create(strategy_options={"width": 6, "rounds": 1})
    assert run(journal, FakeProposer(never), budget=Budget(trials=4)).waiting == (1, 2, 3)


def test_a_strategy_without_rounds_does_not_ask_without_end(create: Create) -> None:
    journal = create(strategy="random", strategy_options={"ahead": 5})
    outcome = run(journal, FakeProposer(never))
    assert outcome.waiting == (1, 2, 3, 4, 5)


def test_a_resumed_run_with_an_answered_round_goes_on_to_the_next_round_whole(create: Create) -> None:
    """The journal replays although more was open than may be under way."""
    answered: set[int] = set()

    def mailbox(request: Request, context: Context) -> Proposal | None:
        return step(request, context) if request.number in answered else None

    journal = create(strategy_options={"width": 3, "repairs": 0}, in_flight=1)
    assert run(journal, FakeProposer(mailbox)).waiting == (1, 2, 3)
    answered.update({1, 2, 3})
    assert run(journal, FakeProposer(mailbox)).waiting == (4, 5, 6)
    asked = [event.payload for event in journal.events() if event.kind is EventKind.ASKED]
    assert [request.round for request in asked if isinstance(request, Request)] == [0, 1, 1, 1, 2, 2, 2]
    assert {request.operator for request in fold(journal.events()).open_requests()} == {Operator.IMPROVE}


def test_one_request_waits_and_two_wait(create: Create) -> None:
    one = run(create(strategy_options={"width": 1, "rounds": 1}), FakeProposer(never))
    two = run(create(strategy_options={"width": 2, "rounds": 1}), FakeProposer(never))
    assert one.detail == "1 request waits for a reply"
    assert two.detail == "2 requests wait for a reply"
