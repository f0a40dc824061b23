"""What a prompt shows is profiled before it is asked for: once, on the furthest case, and never in vain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fakes import STARTER, FakeProposer, FakeWorker, run_info, step
from kernelwright.errors import MachineError, WorkerError
from kernelwright.journal import EventKind, Journal, Profiles, fold
from kernelwright.model import (
    Budget,
    Candidate,
    CaseResult,
    Evaluation,
    Operator,
    Profile,
    Proposal,
    Request,
    Status,
    Timing,
)
from kernelwright.propose.protocol import Context
from kernelwright.propose.reflection import surprising
from kernelwright.run import optimize
from kernelwright.search import build_strategy
from samples import case_info, problem_info, trial

ROUNDS = {"width": 2, "rounds": 2}
WHOLE = 6
"""Trials of a run to its end: the starter, two rounds of two, and a repair."""


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "run", run_info(strategy_options=ROUNDS))


def run(journal: Journal, worker: FakeWorker, answer: Callable[[Request, Context], Proposal | None] = step,
        shows: bool = True, budget: Budget | None = None) -> None:  # fmt: skip
    settings = journal.info.settings
    strategy = build_strategy(settings.strategy, STARTER, settings.seed, settings.strategy_options)
    with journal:
        optimize(journal, strategy, FakeProposer(answer, shows_profiles=shows), worker, budget=budget or Budget())


def kinds(journal: Journal) -> list[tuple[EventKind, int | None]]:
    with Journal.open(journal.folder) as read:
        return [(event.kind, event.number) for event in read.events()]


def test_a_parent_is_profiled_before_the_first_request_from_it_is_proposed_and_only_once(journal: Journal) -> None:
    seen: dict[int, tuple[Profile, ...]] = {}

    def look(request: Request, context: Context) -> Proposal | None:
        assert set(request.parents) <= context.profiles.keys() | failed(context)
        seen.update(context.profiles)
        return step(request, context)

    worker = FakeWorker()
    run(journal, worker, look)
    profiled = [number for kind, number in kinds(journal) if kind is EventKind.PROFILED]
    assert profiled[0] == 0
    assert len(profiled) == len(set(profiled)) > 1
    assert [name for name, purpose in worker.calls if purpose == "profile"].count(STARTER.id) == 1
    (first,) = seen[0]
    assert (first.case, first.implementation) == ("big", STARTER.id)


def failed(context: Context) -> set[int]:
    """What has no time has no profile."""
    return {trial.number for trial in context.trials if trial.score_us is None}


def test_what_does_not_show_profiles_costs_none(journal: Journal) -> None:
    worker = FakeWorker()
    run(journal, worker, shows=False)
    assert [purpose for _, purpose in worker.calls if purpose == "profile"] == []
    assert EventKind.PROFILED not in [kind for kind, _ in kinds(journal)]


def test_a_parent_that_failed_is_not_profiled(journal: Journal) -> None:
    def broken(request: Request, context: Context) -> Proposal:
        return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = {request.number}\n# fails: wrong\n"))

    worker = FakeWorker()
    run(journal, worker, broken)
    assert [name for name, purpose in worker.calls if purpose == "profile"] == [STARTER.id]


def test_a_run_goes_on_where_nothing_can_be_profiled_and_says_why(journal: Journal) -> None:
    def nothing(implementation: Candidate | str, case: str, full: bool) -> Profile:
        raise MachineError("no profiler here")

    run(journal, FakeWorker(look=nothing))
    with Journal.open(journal.folder) as read:
        events = read.events()
        assert fold(events).profiled == {}
        looked = [event.payload for event in events if event.kind is EventKind.PROFILED]
        assert looked[0] == Profiles(failed="no profiler here")
        assert len(read.trials()) == WHOLE


def test_a_worker_that_dies_while_it_profiles_ends_the_session_which_can_be_resumed(journal: Journal) -> None:
    def dying(implementation: Candidate | str, case: str, full: bool) -> Profile:
        raise WorkerError("the worker ended")

    with pytest.raises(WorkerError):
        run(journal, FakeWorker(look=dying))
    resumed = Journal.open(journal.folder, writable=True)
    run(resumed, FakeWorker())
    with Journal.open(journal.folder) as read:
        assert len(read.trials()) == WHOLE


def test_a_resumed_run_does_not_profile_again(journal: Journal) -> None:
    def waits(request: Request, context: Context) -> Proposal | None:
        return None

    run(journal, FakeWorker(), waits)
    worker = FakeWorker()
    run(Journal.open(journal.folder, writable=True), worker)
    assert STARTER.id not in [name for name, purpose in worker.calls if purpose == "profile"]


def test_a_request_to_tune_is_numbers_and_shows_no_profile(journal: Journal) -> None:
    from kernelwright.journal import RunState
    from kernelwright.run.profiling import lacking

    state = RunState(evaluations={0: Evaluation(status=Status.PASSED, score_us=1.0)})
    request = Request(number=1, operator=Operator.TUNE, parents=(0,))
    assert lacking(request, state, FakeProposer(shows_profiles=True), journal.info.problem) == {}


def test_the_time_that_profiles_take_counts_against_gpu_seconds(journal: Journal) -> None:
    run(journal, FakeWorker(), budget=Budget(gpu_seconds=1.0))
    with Journal.open(journal.folder) as read:
        assert len(read.trials()) < WHOLE


def test_what_stands_at_the_end_is_profiled_too(journal: Journal) -> None:
    run(journal, FakeWorker())
    with Journal.open(journal.folder) as read:
        events = read.events()
    (confirmed,) = [event.number for event in events if event.kind is EventKind.CONFIRMED]
    assert confirmed in fold(events).profiled


def test_what_stands_is_profiled_on_the_case_on_which_the_start_was() -> None:
    from kernelwright.journal import RunState
    from kernelwright.run.profiling import case_beside_seed, case_of

    problem = problem_info()
    cases = (*problem.cases, case_info("wide", 16.0))
    problem = msgspec.structs.replace(problem, cases=cases)

    def timed(square_us: float, wide_us: float) -> Evaluation:
        times = {"square": square_us, "wide": wide_us}
        results = tuple(
            CaseResult(case=case, status=Status.PASSED, timing=Timing(kind="measured", median_us=time))
            for case, time in times.items()
        )
        return Evaluation(status=Status.PASSED, results=results, score_us=(square_us * wide_us) ** 0.5)

    seed, best = trial(0, timed(80.0, 40.0)), trial(1, timed(20.0, 30.0))
    assert seed.evaluation is not None
    assert best.evaluation is not None
    state = RunState(evaluations={0: seed.evaluation, 1: best.evaluation}, seed=seed)
    assert (case_of(0, state, problem), case_of(1, state, problem)) == ("square", "wide")
    assert case_beside_seed(1, state, problem) == "wide"
    seen = Profile(implementation="x", case="square", device=None, target="sm_90", tool=None, launches=())
    state.profiles[0] = Profiles(profiles=(seen,))
    assert case_beside_seed(1, state, problem) == "square"
    state.profiles[0] = Profiles(failed="no profiler here")
    assert case_beside_seed(1, state, problem) == "wide"


def test_a_surprise_is_profiled_on_the_case_of_what_it_was_made_from_before_anybody_is_asked_why(
    journal: Journal,
) -> None:
    """Trial 1 is far slower than its parent, so the prompts after it show the counters of both."""

    def slower(request: Request, context: Context) -> Proposal | None:
        surprises = surprising(context.trials)
        assert {one.number for one in surprises} <= context.profiles.keys()
        seen.update((one.number, context.profiles[one.number][0].case) for one in surprises)
        block = 8 if request.number == 1 else 128
        return Proposal(author="fake", candidate=Candidate(source=f"BLOCK = {block}\nX = {request.number}\n"))

    seen: dict[int, str] = {}
    run(journal, FakeWorker(), slower)
    assert seen == {1: "big"}
