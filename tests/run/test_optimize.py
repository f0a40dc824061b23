"""One session of a run: the stages, duplicates, interrupts, faults, and what a resumption accepts."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import msgspec
import pytest

from fakes import ENVIRONMENT, STARTER, FakeProposer, FakeWorker, block_of, evaluation_of, step
from kernelwright.errors import ProviderError, RunFolderError, WorkerError
from kernelwright.journal import Event, EventKind, Journal, fold
from kernelwright.model import (
    Budget,
    Candidate,
    CaseResult,
    Evaluation,
    Operator,
    Proposal,
    Request,
    Status,
    Timing,
    Usage,
)
from kernelwright.propose.protocol import Context
from kernelwright.run import StopReason, control, optimize
from kernelwright.search import build_strategy
from running import Create, run


def kinds(journal: Journal) -> list[str]:
    return [event.kind.value for event in journal.events()]


TWO_ROUNDS = {"width": 2, "rounds": 2}


def test_a_search_finds_a_better_kernel_and_confirms_it(create: Create) -> None:
    journal = create(strategy_options={"width": 2, "rounds": 8})
    worker = FakeWorker()
    outcome = run(journal, worker=worker)
    assert (outcome.reason, outcome.seed) == (StopReason.FINISHED, 0)
    assert outcome.best not in (None, outcome.seed)
    assert outcome.best_us == 101.0, "the confirmation's figure, not the search's"
    assert outcome.best is not None
    best = journal.trials()[outcome.best]
    assert best.score_us == 100.0
    assert best.proposal.candidate is not None
    assert [call for call in worker.calls if call[1] == "confirm"] == [(best.proposal.candidate.id, "confirm")]
    assert fold(journal.events()).confirmations[outcome.best].score_us == 101.0


def test_every_trial_goes_through_its_stages_in_order_and_events_are_told_as_written(create: Create) -> None:
    journal = create(strategy_options=TWO_ROUNDS)
    seen: list[Event] = []
    run(journal, on_event=seen.append)
    assert seen == journal.events()
    assert kinds(journal)[:5] == ["started", "asked", "proposed", "evaluated", "told"]
    assert kinds(journal)[-2:] == ["confirmed", "stopped"]
    for number in {event.number for event in seen} - {None}:
        stages = [event.kind.value for event in seen if event.number == number and event.kind.value != "confirmed"]
        assert stages == ["asked", "proposed", "evaluated", "told"]


def test_small_cases_judge_a_text_until_it_passes_and_then_the_confirmed_config(create: Create) -> None:
    """They take most of the time of compilers: odd sizes are masked element by element."""

    def config(request: Request, context: Context) -> Proposal:
        return Proposal(
            author="fake", candidate=Candidate(source=STARTER.source, config={"BLOCK": 64 << request.number})
        )

    journal, worker = create(strategy_options={"width": 2, "rounds": 1}, in_flight=1), FakeWorker()
    run(journal, FakeProposer(answer=config), worker)
    assert [purpose for _, purpose in worker.calls] == ["search", "tune", "tune", "confirm"]


def test_a_starter_is_taken_as_it_is_and_costs_nothing(create: Create) -> None:
    journal, proposer = create(strategy_options=TWO_ROUNDS), FakeProposer()
    run(journal, proposer)
    first = journal.trials()[0]
    assert (first.proposal.author, first.proposal.candidate, first.proposal.usage) == ("starter", STARTER, Usage())
    assert 0 not in proposer.calls


def test_without_a_starter_the_proposer_writes_the_seed_and_it_is_confirmed_too(create: Create) -> None:
    def write(request: Request, context: Context) -> Proposal:
        return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = 512\n# {request.number}\n"))

    journal = create(starter=None, strategy_options=TWO_ROUNDS)
    outcome = run(journal, FakeProposer(write))
    assert (outcome.seed, outcome.best, outcome.best_us) == (0, 0, 101.0)
    assert list(fold(journal.events()).confirmations) == [0]


def test_the_proposer_sees_what_was_told_and_what_is_in_flight(create: Create) -> None:
    contexts: dict[int, Context] = {}

    def look(request: Request, context: Context) -> Proposal:
        contexts[request.number] = context
        return step(request, context)

    journal = create(strategy_options=TWO_ROUNDS, seed=7)
    run(journal, FakeProposer(look))
    assert set(contexts) == {1, 2, 3, 4, 5}
    for number, context in contexts.items():
        assert [trial.number for trial in context.trials] == list(range(number))
        assert context.in_flight == ()
        assert (context.seed, context.folder, context.problem) == (7, journal.folder, journal.info.problem)
    assert contexts[1].blob(contexts[1].put_blob("a prompt")) == "a prompt"


def test_requests_run_in_parallel_up_to_the_number_allowed(create: Create) -> None:
    together, most, lock, meeting = 0, 0, threading.Lock(), threading.Barrier(3, timeout=600)

    def propose(request: Request, context: Context) -> Proposal:
        """Not back before three are under way."""
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        meeting.wait()
        with lock:
            together -= 1
        return step(request, context)

    journal = create(strategy_options={"width": 6, "rounds": 1, "repairs": 0}, in_flight=3)
    run(journal, FakeProposer(propose))
    assert most == 3
    open_now = largest = 0
    for event in journal.events():
        open_now += {EventKind.ASKED: 1, EventKind.TOLD: -1}.get(event.kind, 0)
        largest = max(largest, open_now)
    assert 3 <= largest <= 6, "three proposals, and three evaluations beside them"


def test_thinking_takes_no_place_of_an_evaluation(create: Create) -> None:
    """And what is proposed waits for its place, so that no more are evaluated at once than were allowed."""
    changed, now, most = threading.Condition(), Counter[str](), Counter[str]()

    def together(what: str, count: int) -> None:
        """Not back before there were `count` at once."""
        with changed:
            now[what] += 1
            most[what] = max(most[what], now[what])
            changed.notify_all()
            assert changed.wait_for(lambda: most[what] >= count, 600)
        time.sleep(0.05)  # more would show
        with changed:
            now[what] -= 1

    def propose(request: Request, context: Context) -> Proposal:
        together("thinking", 5)
        return step(request, context)

    def evaluate(candidate: Candidate, purpose: str) -> Evaluation:
        together("measuring", 1 if candidate == STARTER else 2)
        return evaluation_of(candidate, purpose)

    journal = create(strategy_options={"width": 8, "rounds": 2, "repairs": 0}, in_flight=2, thinking=5)
    run(journal, FakeProposer(propose), FakeWorker(evaluate))
    assert most == {"thinking": 5, "measuring": 2}
    assert len(journal.trials()) == 17


def test_a_proposal_that_is_an_error_is_told_without_an_evaluation(create: Create) -> None:
    def refuse(request: Request, context: Context) -> Proposal:
        return Proposal(author="fake", error="no code in the reply", usage=Usage(output_tokens=9))

    journal, worker = create(strategy_options={"width": 2, "rounds": 1}), FakeWorker()
    outcome = run(journal, FakeProposer(refuse), worker)
    assert worker.calls == [(STARTER.id, "search")]
    assert [trial.evaluation is None for trial in journal.trials()] == [False, True, True]
    assert (outcome.best, outcome.seed, outcome.best_us) == (0, 0, 400.0)


def test_a_run_in_which_nothing_passes_ends_without_a_best(create: Create) -> None:
    journal = create(strategy_options=TWO_ROUNDS)
    worker = FakeWorker(lambda candidate, purpose: Evaluation(status=Status.WRONG, reason="off by one"))
    outcome = run(journal, worker=worker)
    assert (outcome.reason, outcome.seed, outcome.best) == (StopReason.FINISHED, None, None)
    assert fold(journal.events()).confirmations == {}


def test_a_proposer_that_answers_at_once_knows_everything_that_is_in_flight(create: Create) -> None:
    """It need not repeat itself, however many requests are under way."""
    known: dict[int, int] = {}

    def propose(request: Request, context: Context) -> Proposal:
        known[request.number] = len(context.trials) + len(context.in_flight)
        return step(request, context)

    journal = create(strategy_options={"width": 6, "rounds": 1, "repairs": 0}, in_flight=6)
    run(journal, FakeProposer(propose, at_once=True), FakeWorker(delay_s=0.05))
    assert known == {number: number for number in range(1, 7)}


# --- duplicates ---------------------------------------------------------------------------------------------


def same(request: Request, context: Context) -> Proposal:
    return Proposal(author="fake", candidate=Candidate(source="BLOCK = 256\n"))


@pytest.mark.parametrize("in_flight", [1, 4])
def test_the_same_candidate_is_evaluated_once_and_says_whose_result_it_has(create: Create, in_flight: int) -> None:
    journal = create(strategy_options={"width": 4, "rounds": 1}, in_flight=in_flight)
    worker = FakeWorker(delay_s=0.05)
    run(journal, FakeProposer(same), worker)
    assert [purpose for _, purpose in worker.calls] == ["search", "search", "confirm"]
    evaluations = [trial.evaluation for trial in journal.trials()]
    assert len(evaluations) == 5
    first = next(e.number for e in journal.events() if e.kind is EventKind.EVALUATED and e.number)
    for number, evaluation in enumerate(evaluations):
        assert evaluation is not None
        assert evaluation.score_us == (400.0 if number == 0 else 200.0)
        assert evaluation.reason == ("" if number in (0, first) else f"the same candidate as trial {first}")


def test_a_repeated_failure_keeps_its_reason(create: Create) -> None:
    def broken(request: Request, context: Context) -> Proposal:
        return Proposal(author="fake", candidate=Candidate(source="# fails: wrong\n"))

    journal = create(strategy_options={"width": 1, "rounds": 1, "repairs": 1})
    run(journal, FakeProposer(broken))
    repeated = journal.trials()[2].evaluation
    assert repeated is not None
    assert repeated.status is Status.WRONG
    assert repeated.reason == "the same candidate as trial 1: the source says that it fails: wrong"


# --- confirmation -------------------------------------------------------------------------------------------


def blocks(*sources: str) -> FakeProposer:
    """Answers request N with the Nth source (counted from 1)."""

    def answer(request: Request, context: Context) -> Proposal:
        return Proposal(author="fake", candidate=Candidate(source=sources[request.number - 1]))

    return FakeProposer(answer)


def test_when_the_best_fails_its_confirmation_the_next_best_is_confirmed(create: Create) -> None:
    journal = create(strategy_options={"width": 3, "rounds": 1})
    proposer = blocks("BLOCK = 256\n", "BLOCK = 512\n# fails confirm: wrong\n", "BLOCK = 128\n")
    outcome = run(journal, proposer)
    assert (outcome.best, outcome.best_us, outcome.refused) == (1, 201.0, (2,))
    assert [evaluation.status for evaluation in fold(journal.events()).confirmations.values()] == [
        Status.WRONG,
        Status.PASSED,
    ]


def test_when_no_confirmation_stands_the_starter_remains(create: Create) -> None:
    journal = create(strategy_options={"width": 2, "rounds": 1})
    outcome = run(journal, blocks("BLOCK = 256\n# fails confirm: wrong\n", "BLOCK = 512\n# fails confirm: crashed\n"))
    assert (outcome.best, outcome.seed, outcome.best_us, outcome.refused) == (0, 0, 400.0, (2, 1))


def test_a_gain_that_vanishes_in_the_confirmation_is_no_gain(create: Create) -> None:
    def lucky(candidate: Candidate, purpose: str) -> Evaluation:
        evaluation = evaluation_of(candidate, purpose)
        return msgspec.structs.replace(evaluation, score_us=400.0) if purpose == "confirm" else evaluation

    journal = create(strategy_options={"width": 1, "rounds": 1})
    outcome = run(journal, blocks("BLOCK = 512\n"), FakeWorker(lucky))
    assert (outcome.best, outcome.refused) == (0, (1,))


def test_a_candidate_whose_confirmation_failed_is_not_confirmed_again_under_another_number(create: Create) -> None:
    journal = create(strategy_options={"width": 2, "rounds": 1})
    source = "BLOCK = 512\n# fails confirm: wrong\n"
    outcome = run(journal, blocks(source, source))
    assert (outcome.best, outcome.refused) == (0, (1,))
    assert list(fold(journal.events()).confirmations) == [1]


def test_a_gain_within_the_intervals_is_a_tie_and_goes_to_the_starter_unconfirmed(create: Create) -> None:
    def noisy(candidate: Candidate, purpose: str) -> Evaluation:
        """Every kernel takes 400 µs; the microsecond or two between blocks are within the noise."""
        score_us = 400.0 - block_of(candidate).bit_length() % 4
        timing = Timing(kind="measured", median_us=score_us, ci95_us=(score_us - 4, score_us + 4))
        results = (CaseResult(case="big", status=Status.PASSED, timing=timing),)
        return Evaluation(status=Status.PASSED, results=results, score_us=score_us, timing_kind="measured")

    journal = create(strategy_options={"width": 4, "rounds": 4}, starter=Candidate(source="BLOCK = 16\n"))
    outcome = run(journal, worker=FakeWorker(noisy))
    scores_us = [trial.score_us for trial in journal.trials()]
    assert (scores_us[0], min(score_us or 400.0 for score_us in scores_us)) == (399.0, 397.0)
    assert (outcome.best, outcome.seed) == (0, 0)
    assert fold(journal.events()).confirmations == {}


def test_an_estimate_has_no_interval_and_the_lower_one_is_better(create: Create) -> None:
    def estimate(candidate: Candidate, purpose: str) -> Evaluation:
        score_us = 400.0 - block_of(candidate) / 1000
        timing = Timing(kind="estimate", median_us=score_us)
        results = (CaseResult(case="big", status=Status.PASSED, timing=timing),)
        return Evaluation(status=Status.PASSED, results=results, score_us=score_us, timing_kind="estimate")

    outcome = run(create(strategy_options={"width": 1, "rounds": 1}), blocks("BLOCK = 512\n"), FakeWorker(estimate))
    assert (outcome.best, outcome.best_us) == (1, 400.0 - 0.512)


def test_nothing_is_confirmed_where_nothing_is_better_than_the_starter(create: Create) -> None:
    journal, worker = create(strategy_options={"width": 1, "rounds": 1}), FakeWorker()
    outcome = run(journal, blocks("BLOCK = 64\n# equal\n"), worker)
    assert (outcome.best, outcome.seed) == (0, 0)
    assert all(purpose == "search" for _, purpose in worker.calls)


def test_a_search_that_goes_on_keeps_the_confirmations_it_has(create: Create) -> None:
    journal = create(strategy="greedy")
    first = FakeWorker()
    assert run(journal, worker=first, budget=Budget(trials=2)).best == 1
    again = FakeWorker()
    outcome = run(journal, worker=again, budget=Budget(trials=2))
    assert again.calls == []
    assert outcome.best_us == 301.0
    assert run(journal, worker=again, budget=Budget(trials=20)).best_us == 101.0


# --- ending early and resuming ------------------------------------------------------------------------------


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As at a terminal: a program that is started in the background, as CI may be, has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_when_called() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_session_in_order_and_keeps_a_proposal_that_was_under_way(create: Create) -> None:
    journal = create(strategy="greedy")

    def slow(request: Request, context: Context) -> Proposal:
        if request.number == 2:
            interrupt_when_called()
            time.sleep(0.1)
        return step(request, context)

    proposer = FakeProposer(slow)
    outcome = run(journal, proposer, budget=Budget(trials=5))
    assert (outcome.reason, outcome.best) == (StopReason.INTERRUPTED, None)
    assert kinds(journal)[-3:] == ["asked", "proposed", "stopped"]
    assert fold(journal.events()).confirmations == {}

    outcome = run(journal, proposer, budget=Budget(trials=5))
    assert outcome.reason is StopReason.TRIALS
    assert proposer.calls == [1, 2, 3, 4], "no proposal is paid for twice"
    assert [session.reason for session in journal.sessions()] == ["interrupted", "trials"]


def test_a_wait_looks_up_often_for_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python acts on a signal only when the main thread runs: one that comes just before it blocks would be lost."""
    waited: list[float | None] = []

    def never(under_way: list[object], most_s: float | None, *_: object) -> tuple[set[object], set[object]]:
        waited.append(most_s)
        return set(under_way) if len(waited) == 3 else set(), set()

    monkeypatch.setattr(control, "wait", never)
    one: Future[None] = Future()
    assert control.first_done([one], None) == {one}
    assert waited == [control.LOOK_S] * 3
    assert control.first_done([one], 0.0) == set()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_does_not_wait_for_an_evaluation(create: Create) -> None:
    journal, release, finished = create(strategy="greedy"), threading.Event(), threading.Event()

    def stuck(candidate: Candidate, purpose: str) -> Evaluation:
        interrupt_when_called()
        release.wait()
        finished.set()
        return evaluation_of(candidate, purpose)

    outcome = run(journal, worker=FakeWorker(stuck))
    assert not finished.is_set(), "the run ended first"
    release.set()
    assert outcome.reason is StopReason.INTERRUPTED
    assert kinds(journal) == ["started", "asked", "proposed", "stopped"]


def test_an_evaluation_is_given_the_best_so_far_also_after_a_resumption(create: Create) -> None:
    journal = create(strategy="greedy")
    first = FakeWorker()
    run(journal, worker=first, budget=Budget(trials=4))
    trials = journal.trials()
    for number, given in enumerate(first.incumbents[: len(trials)]):
        best = min((t for t in trials[:number] if t.score_us is not None), key=lambda t: t.score_us, default=None)
        assert (given and given.candidate) == (best and best.proposal.candidate)
    resumed = FakeWorker()
    run(journal, worker=resumed, budget=Budget(trials=5))
    best = min((t for t in trials if t.score_us is not None), key=lambda t: t.score_us)
    searched = [given for given, (_, purpose) in zip(resumed.incumbents, resumed.calls, strict=True)
                if purpose == "search"]  # fmt: skip
    assert searched[0] is not None
    assert searched[0].candidate == best.proposal.candidate
    assert searched[0].times_us == {r.case: r.timing.median_us for r in best.evaluation.results if r.timing}


KILLED = Evaluation(status=Status.NOT_VERIFIED, reason="k: the compiler was killed", killed=True)


def test_what_is_not_judged_because_its_compilers_were_killed_is_judged_again_at_resume(create: Create) -> None:
    """It is neither repaired nor the verdict on the same text, and it is a parent once it passed."""

    def short(candidate: Candidate, purpose: str) -> Evaluation:
        return KILLED if block_of(candidate) == 512 else evaluation_of(candidate, purpose)

    journal = create(strategy="greedy", strategy_options={"rounds": 3})
    proposer, worker = blocks(*["BLOCK = 512\n"] * 3), FakeWorker(short)
    run(journal, proposer, worker, budget=Budget(trials=3))
    assert [trial.evaluation and trial.evaluation.killed for trial in journal.trials()] == [False, True, True]
    assert [trial.request.operator for trial in journal.trials()][1:] == [Operator.IMPROVE] * 2
    assert len([call for call in worker.calls if call[1] == "search"]) == 3, "no verdict to repeat"

    again = FakeWorker()
    outcome = run(journal, proposer, again, budget=Budget(trials=3))
    assert kinds(journal).count("judged_again") == 2
    assert [trial.score_us for trial in journal.trials()] == [400.0, 100.0, 100.0]
    assert (outcome.best, outcome.best_us) == (1, 101.0)
    run(journal, proposer, budget=Budget(trials=4))
    assert kinds(journal).count("judged_again") == 2
    assert journal.trials()[3].request.parents == (1,)


def test_a_confirmation_whose_compilers_were_killed_is_made_again_at_resume(create: Create) -> None:
    def short(candidate: Candidate, purpose: str) -> Evaluation:
        return KILLED if purpose == "confirm" else evaluation_of(candidate, purpose)

    journal = create(strategy_options={"width": 1, "rounds": 1})
    proposer = blocks("BLOCK = 512\n")
    assert run(journal, proposer, FakeWorker(short)).best == 0
    assert fold(journal.events()).confirmations == {}
    assert run(journal, proposer).best_us == 101.0


def test_a_provider_that_gives_up_stops_the_run_which_can_be_resumed(create: Create) -> None:
    journal = create(strategy="greedy")

    def down(request: Request, context: Context) -> Proposal:
        if request.number == 2:
            raise ProviderError("the provider said 401")
        return step(request, context)

    with pytest.raises(ProviderError, match="401"):
        run(journal, FakeProposer(down))
    assert journal.sessions()[0].reason == "error: the provider said 401"
    assert [request.number for request in fold(journal.events()).open_requests()] == [2]
    proposer = FakeProposer()
    assert run(journal, proposer, budget=Budget(trials=4)).reason is StopReason.TRIALS
    assert proposer.calls == [2, 3]


def test_a_worker_that_dies_stops_the_run_and_the_evaluation_is_made_again(create: Create) -> None:
    journal = create(strategy="greedy")

    def dying(candidate: Candidate, purpose: str) -> Evaluation:
        if candidate != STARTER:
            raise WorkerError("the worker ended with status 139")
        return evaluation_of(candidate, purpose)

    proposer = FakeProposer()
    with pytest.raises(WorkerError, match="139"):
        run(journal, proposer, FakeWorker(dying))
    run(journal, proposer, budget=Budget(trials=2))
    assert proposer.calls == [1]
    assert len(journal.trials()) == 2


def test_a_resumed_run_whose_strategy_differs_is_refused_and_names_the_event(create: Create) -> None:
    journal = create(strategy="beam", strategy_options=TWO_ROUNDS)
    run(journal, budget=Budget(trials=4))
    before = journal.events()
    strategy = build_strategy("random", STARTER, 0, {"operator": "tune"})
    with pytest.raises(RunFolderError) as caught:
        optimize(journal, strategy, FakeProposer(), FakeWorker(), budget=Budget())
    assert "at event 6" in str(caught.value)
    assert "request 1 (improve, round 1, parents 0)" in str(caught.value)
    assert "request 1 (tune, round 1, parents 0)" in str(caught.value)
    assert journal.events() == before


def test_a_resumed_run_with_another_starter_is_refused(create: Create) -> None:
    journal = create(strategy="greedy")
    run(journal, budget=Budget(trials=1))
    strategy = build_strategy("greedy", Candidate(source="BLOCK = 8\n"), 0)
    with pytest.raises(RunFolderError, match=f"candidate {STARTER.id}.*but the strategy now asks"):
        optimize(journal, strategy, FakeProposer(), FakeWorker(), budget=Budget())


@pytest.mark.parametrize("other", [{"device": "Other GPU"}, {"device": None}, {"target": "sm_100"}])
def test_a_run_is_not_continued_on_another_kind_of_device(create: Create, other: dict[str, Any]) -> None:
    journal = create(strategy="greedy")
    run(journal, budget=Budget(trials=1))
    with pytest.raises(RunFolderError, match=r"begun on Fake GPU \(sm_90\)"):
        run(journal, worker=FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, **other)))
    assert len(journal.sessions()) == 1


def test_another_version_of_torch_is_said_and_accepted(create: Create, caplog: pytest.LogCaptureFixture) -> None:
    journal = create(strategy="greedy")
    run(journal, budget=Budget(trials=1))
    worker = FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, torch="2.10.0"))
    assert run(journal, worker=worker, budget=Budget(trials=2)).reason is StopReason.TRIALS
    assert "torch 2.9.0" in caplog.text
    assert "2.10.0" in caplog.text


def test_operators_reach_the_proposer_as_asked(create: Create) -> None:
    journal = create(strategy_options={"width": 4, "rounds": 2, "repairs": 1})
    run(journal)
    operators = [trial.request.operator for trial in journal.trials()]
    assert operators[0] is Operator.SEED
    assert Operator.REPAIR in operators
