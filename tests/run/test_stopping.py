"""Budgets: the arithmetic, and that a limit holds in a real session with requests in flight."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from fakes import STARTER, FakeProposer, FakeWorker, evaluation_of, run_info, step
from kernelwright.journal import Event, EventKind, Journal, RunState
from kernelwright.journal.events import Payload
from kernelwright.model import (
    BUDGET_LIMITS,
    Budget,
    Candidate,
    Evaluation,
    KnownKernel,
    LaneChange,
    Operator,
    Proposal,
    Request,
    RunSettings,
    Scalar,
    Status,
    Trial,
    Usage,
)
from kernelwright.propose.protocol import Context, Proposer
from kernelwright.run import Outcome, StopReason, optimize
from kernelwright.run.spending import spent as spent_of
from kernelwright.run.stopping import obstacle
from kernelwright.search import build_strategy


def take(made: RunState, kind: EventKind, number: int | None, payload: Payload = None) -> None:
    made.take(Event(seq=made.seq + 1, kind=kind, number=number, time="2026-11-21T10:00:00+00:00", payload=payload))


def state(*tokens: int | None, usd: float | None = 0.5) -> RunState:
    """A starter, then one request per entry; None is not answered yet."""
    made = RunState()
    take(made, EventKind.ASKED, 0, Request(number=0, operator=Operator.SEED, candidate=STARTER))
    take(made, EventKind.PROPOSED, 0, Proposal(author="starter", candidate=STARTER))
    for number, used in enumerate(tokens, start=1):
        take(made, EventKind.ASKED, number, Request(number=number, operator=Operator.IMPROVE, parents=(0,)))
        if used is not None:
            usage = Usage(input_tokens=used - 1, output_tokens=1, cost_usd=usd)
            take(made, EventKind.PROPOSED, number, Proposal(author="model:m", candidate=STARTER, usage=usage))
    return made


def evaluate(made: RunState, number: int, lane: str = "", **stages_s: float) -> None:
    take(made, EventKind.EVALUATED, number, Evaluation(status=Status.PASSED, stages_s=stages_s, lane=lane))


def reason(
    budget: Budget, made: RunState, elapsed_s: float = 0.0, trials_s: tuple[float, ...] = ()
) -> StopReason | None:
    found = obstacle(budget, made, elapsed_s, trials_s)
    return found.reason if found else None


def test_every_limit_has_a_field_a_reason_to_stop_and_a_count_of_what_is_spent() -> None:
    names = [limit.name for limit in BUDGET_LIMITS]
    assert tuple(names) == Budget.__struct_fields__
    assert list(spent_of(RunState(), 0.0, RunSettings(problem="p"))) == names
    for limit in BUDGET_LIMITS[1:]:  # trials are counted request by request, in the loop
        made = state(10**6, 10**6)
        evaluate(made, 0, time=1e6)
        found = obstacle(Budget(**{limit.name: 1}), made, 1e6, [])
        assert found is not None
        assert found.reason is StopReason(limit.name)


def test_no_budget_is_no_obstacle() -> None:
    assert obstacle(Budget(), state(10**9, None, None), 1e9, [1e9]) is None


def test_what_is_in_flight_reserves_the_largest_answer_seen() -> None:
    assert reason(Budget(tokens=1000), state(100, 300, None)) is None, "400 used, 300 in flight, 300 to come: 1000"
    assert reason(Budget(tokens=999), state(100, 300, None)) is StopReason.TOKENS
    assert reason(Budget(usd=2.0), state(100, 100, None)) is None
    assert reason(Budget(usd=1.9), state(100, 100, None)) is StopReason.USD


def test_until_the_first_answer_is_known_one_request_goes_at_a_time() -> None:
    assert reason(Budget(tokens=1000), state()) is None
    assert reason(Budget(tokens=1000), state(None)) is StopReason.TOKENS
    assert reason(Budget(usd=1.0), state(None)) is StopReason.USD
    assert reason(Budget(tokens=1000), state(10)) is None


def test_gpu_seconds_count_judging_and_timing_and_reserve_the_longest_for_what_is_open() -> None:
    made = state(10, 10, None)
    for number, seconds in ((0, 2.0), (1, 4.0)):
        evaluate(made, number, verify=seconds / 2, time=seconds / 2, compile=100.0, record=100.0)
        take(made, EventKind.TOLD, number)
    assert reason(Budget(gpu_seconds=18.0), made) is None, "6 used, 8 for trials 2 and 3, 4 to come"
    assert reason(Budget(gpu_seconds=17.9), made) is StopReason.GPU_SECONDS
    assert reason(Budget(gpu_seconds=0.1), state()) is StopReason.GPU_SECONDS, "the starter is not told yet"
    assert reason(Budget(gpu_seconds=0.1), RunState()) is None


def test_what_the_first_trial_measures_counts_and_is_not_expected_again() -> None:
    made = state()
    evaluate(made, 0, draws=6.0, verify=1.5, time=0.5)
    take(made, EventKind.TOLD, 0)
    assert spent_of(made, 0.0, RunSettings(problem="p"))["gpu_seconds"] == 8.0
    assert reason(Budget(gpu_seconds=10.0), made) is None, "8 used, 2 to come"
    found = obstacle(Budget(gpu_seconds=9.9), made, 0.0, ())
    assert found is not None
    assert found.detail == "8.0 of 9.9 GPU seconds, up to 2.0 each"
    evaluate(made, 1, draws=6.0, verify=1.5, time=0.5)
    assert reason(Budget(gpu_seconds=23.9), made) is StopReason.GPU_SECONDS, "16 used, 8 to come: it was measured again"
    assert reason(Budget(gpu_seconds=24.0), made) is None


def test_a_lane_that_has_measured_nothing_is_expected_to() -> None:
    made = state()
    for name in ("one", "two", "three"):
        take(made, EventKind.LANE, None, LaneChange(lane=name, what="up"))
    evaluate(made, 0, "one", draws=6.0, time=2.0)
    take(made, EventKind.LANE, None, LaneChange(lane="three", what="lost"))
    take(made, EventKind.TOLD, 0)
    assert spent_of(made, 0.0, RunSettings(problem="p"))["gpu_seconds"] == 8.0
    assert reason(Budget(gpu_seconds=16.0), made) is None, "8 used, 6 to be measured on lane two, 2 for the trial"
    assert reason(Budget(gpu_seconds=15.9), made) is StopReason.GPU_SECONDS


def test_a_limit_of_nothing_lets_nothing_through() -> None:
    assert reason(Budget(tokens=0), state()) is StopReason.TOKENS
    assert reason(Budget(usd=0.0), state()) is StopReason.USD


def test_a_limit_in_usd_does_not_let_an_unknown_price_pass() -> None:
    found = obstacle(Budget(usd=100.0), state(10, usd=None), 0.0, ())
    assert found is not None
    assert found.reason is StopReason.USD
    assert "the price of model:m is not known" in found.detail
    assert obstacle(Budget(tokens=100), state(10, usd=None), 0.0, ()) is None


def test_a_proposer_that_costs_nothing_never_meets_a_limit_on_cost() -> None:
    made = state(None)
    take(made, EventKind.PROPOSED, 1, Proposal(author="builtin", candidate=STARTER))
    assert reason(Budget(tokens=1, usd=0.01), made) is None


def test_minutes_stop_before_a_trial_that_would_not_fit() -> None:
    budget = Budget(minutes=1)
    assert reason(budget, state(), 40.0, (90.0, 15.0, 20.0)) is None, "the first trial of a session starts things up"
    assert reason(budget, state(), 41.0, (90.0, 15.0, 20.0)) is StopReason.MINUTES
    assert reason(budget, state(), 50.0, (11.0,)) is StopReason.MINUTES
    assert reason(budget, state(), 60.0, ()) is StopReason.MINUTES
    assert reason(budget, state(), 59.0, ()) is None


# --- in a session -------------------------------------------------------------------------------------------


def session(
    folder: Path,
    budget: Budget,
    in_flight: int,
    proposer: FakeProposer,
    answer: Callable[[Candidate, str], Evaluation] = evaluation_of,
) -> Outcome:
    exists = (folder / "journal.db").exists()
    info = run_info(strategy="random", in_flight=in_flight)
    with Journal.open(folder, writable=True) if exists else Journal.create(folder, info) as journal:
        strategy = build_strategy("random", journal.info.starter, 0)
        return optimize(journal, strategy, proposer, FakeWorker(answer), budget=budget)


def costly(request: Request, context: Context) -> Proposal:
    """300 tokens, then 100, 200, 300 and so on: the first is the largest, which is what is reserved; a cent per 100."""
    hundreds = 1 + (request.number + 1) % 3
    usage = Usage(input_tokens=hundreds * 100, cost_usd=hundreds / 100, requests=1)
    return Proposal(author="fake", candidate=step(request, context).candidate, usage=usage)


def slow(in_flight: int) -> float:
    """Seconds that keep several answers under way at once."""
    return 0.05 if in_flight > 1 else 0.0


def spent(folder: Path) -> tuple[int, int, float]:
    with Journal.open(folder) as journal:
        proposals = [event.payload for event in journal.events() if isinstance(event.payload, Proposal)]
        return (
            len([event for event in journal.events() if event.kind is EventKind.TOLD]),
            sum(proposal.usage.input_tokens for proposal in proposals),
            sum(proposal.usage.cost_usd or 0.0 for proposal in proposals),
        )


@pytest.mark.parametrize("in_flight", [1, 4])
def test_a_limit_on_tokens_holds_and_leaves_no_room_for_another_request(tmp_path: Path, in_flight: int) -> None:
    outcome = session(tmp_path / "run", Budget(tokens=1200), in_flight, FakeProposer(costly, delay_s=slow(in_flight)))
    assert outcome.reason is StopReason.TOKENS
    assert 1200 - 300 < spent(tmp_path / "run")[1] <= 1200


@pytest.mark.parametrize("in_flight", [1, 4])
def test_a_limit_on_money_holds(tmp_path: Path, in_flight: int) -> None:
    outcome = session(tmp_path / "run", Budget(usd=0.115), in_flight, FakeProposer(costly, delay_s=slow(in_flight)))
    assert outcome.reason is StopReason.USD
    assert 0.085 < spent(tmp_path / "run")[2] <= 0.115


@pytest.mark.parametrize("in_flight", [1, 4])
def test_a_limit_on_trials_is_met_exactly_and_can_be_raised(tmp_path: Path, in_flight: int) -> None:
    assert session(tmp_path / "run", Budget(trials=6), in_flight, FakeProposer()).reason is StopReason.TRIALS
    assert spent(tmp_path / "run")[0] == 6
    assert session(tmp_path / "run", Budget(trials=9), in_flight, FakeProposer()).reason is StopReason.TRIALS
    assert spent(tmp_path / "run")[0] == 9


def test_a_limit_on_minutes_ends_a_run_and_counts_its_earlier_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that only evaluations move."""
    now_s = [0.0]

    def evaluate(candidate: Candidate, purpose: str) -> Evaluation:
        now_s[0] += 6.0
        return evaluation_of(candidate, purpose)

    for module in ("loop", "clock"):
        clock = SimpleNamespace(monotonic=lambda: now_s[0], sleep=time.sleep)
        monkeypatch.setattr(f"kernelwright.run.{module}.time", clock)
    budget = Budget(minutes=1)
    outcome = session(tmp_path / "run", budget, 2, FakeProposer(), evaluate)
    assert outcome.reason is StopReason.MINUTES
    trials = spent(tmp_path / "run")[0]
    assert trials > 1
    assert session(tmp_path / "run", budget, 2, FakeProposer(), evaluate).reason is StopReason.MINUTES
    further = spent(tmp_path / "run")[0] - trials
    assert further <= max(4, trials // 2), "only what the first session kept back for one more trial was left"


def test_requests_that_were_open_when_a_run_stopped_are_finished_even_without_budget_left(tmp_path: Path) -> None:
    def late(request: Request, context: Context) -> Proposal | None:
        return None

    assert session(tmp_path / "run", Budget(trials=3), 2, FakeProposer(late)).waiting == (1, 2)
    outcome = session(tmp_path / "run", Budget(trials=3, tokens=1), 2, FakeProposer(costly))
    assert outcome.reason is StopReason.TOKENS
    assert spent(tmp_path / "run")[0] == 3


# --- what counts as a trial ---------------------------------------------------------------------------------


def tuned_session(folder: Path, trials: int, proposer: Proposer, strategy: str = "beam", **options: Scalar) -> Outcome:
    """A session of a run with two known kernels; options: of the strategy."""
    exists = (folder / "journal.db").exists()
    known = tuple(
        KnownKernel(candidate=Candidate(source=f"BLOCK = {block}\n"), origin="x", ratio=None) for block in (16, 32)
    )
    info = msgspec.structs.replace(run_info(strategy=strategy, strategy_options=options), known=known)
    with Journal.open(folder, writable=True) if exists else Journal.create(folder, info) as journal:
        made = build_strategy(strategy, STARTER, 0, options, [one.candidate for one in known])
        return optimize(journal, made, proposer, FakeWorker(), budget=Budget(trials=trials))


def written(folder: Path) -> list[Trial]:
    """The trials that an author was asked for, without tunings."""
    with Journal.open(folder) as journal:
        return [t for t in journal.trials() if t.request.candidate is None and t.request.operator is not Operator.TUNE]


@pytest.mark.parametrize("strategy", ["beam", "greedy", "evolve"])
def test_a_budget_of_two_trials_reaches_the_first_answer_of_the_author(tmp_path: Path, strategy: str) -> None:
    outcome = tuned_session(tmp_path / "run", 2, FakeProposer(), strategy, operators="portfolio", tuning=4)
    assert (outcome.reason, outcome.detail) == (StopReason.TRIALS, "2 of 2 trials")
    (answer,) = written(tmp_path / "run")
    assert answer.evaluation is not None


def test_what_is_tuned_after_the_last_trial_is_recorded_and_a_raised_limit_goes_on_from_it(tmp_path: Path) -> None:
    last = []
    for most in (2, 3, 6):
        found = tuned_session(tmp_path / "run", most, FakeProposer(), "greedy", operators="portfolio", tuning=4)
        assert found.detail == f"{most} of {most} trials"
        assert len(written(tmp_path / "run")) == most - 1
        with Journal.open(tmp_path / "run") as journal:
            numbers = [trial.number for trial in journal.trials()]
            last.append(journal.trials()[-1].request.operator)
        assert numbers == list(range(len(numbers)))
    assert last[0] is Operator.TUNE


def test_tunings_are_trials_where_a_search_asks_for_nothing_else(tmp_path: Path) -> None:
    tuned_session(tmp_path / "run", 6, FakeProposer(), "random", operator="tune")
    with Journal.open(tmp_path / "run") as journal:
        assert len(journal.trials()) == 8, "the starter, two known kernels that are not counted, five tunings"
