"""The laws of a strategy, which every line of `STRATEGIES` inherits, with its defaults and with nested tuning."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fakes import STARTER, block_of, evaluation_of
from kernelwright.model import Candidate, Evaluation, Operator, Proposal, Request, Scalar, Status, Trial
from kernelwright.search import STRATEGIES, build_strategy
from kernelwright.search.protocol import Strategy
from kernelwright.search.ranking import is_repairable

Device = Callable[[Request, Candidate], Evaluation]
Writer = Callable[[Request, dict[int, Trial]], Candidate | None]
LIMIT = 400
"""More asks than any search here makes that ends by itself."""

NESTED: dict[str, Scalar] = {"operators": "portfolio", "tuning": 2}
VARIANTS: dict[str, tuple[str, dict[str, Scalar]]] = {
    **{name: (name, {}) for name in STRATEGIES},
    **{f"{name} nested": (name, NESTED) for name in STRATEGIES if name != "random"},
}
everywhere = pytest.mark.parametrize("name", list(VARIANTS))
ORDERS = range(5)
"""In which trials are told, drawn from these numbers."""


def orders(law: Callable[..., None]) -> Callable[..., None]:
    """The same law in every order, one after the other."""

    @functools.wraps(law)
    def in_every_order(**given: object) -> None:
        for order in ORDERS:
            law(order=order, **given)

    signature = inspect.signature(law)
    left = [parameter for name, parameter in signature.parameters.items() if name != "order"]
    in_every_order.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    return in_every_order


def write(request: Request, trials: dict[int, Trial]) -> Candidate | None:
    """A new candidate for every request: a random neighbour of the parent's block, sometimes broken or missing."""
    if request.candidate is not None:
        return request.candidate
    chance = random.Random(request.number).random()
    if chance < 0.1:
        return None
    parent = trials[request.parents[0]].proposal.candidate if request.parents else STARTER
    assert parent is not None
    block = max(8, int(block_of(parent) * (2 if chance < 0.6 else 0.5)))
    status = random.Random(-request.number).choice([s for s in Status if s is not Status.PASSED])
    return Candidate(
        source=f"BLOCK = {block}  # {request.number}\n" + (f"# fails: {status.value}\n" if chance > 0.7 else "")
    )


def nothing(request: Request, trials: dict[int, Trial]) -> Candidate | None:
    return request.candidate


def the_same(request: Request, trials: dict[int, Trial]) -> Candidate | None:
    return STARTER


def device(request: Request, candidate: Candidate) -> Evaluation:
    return evaluation_of(candidate, "search")


def broken_device(request: Request, candidate: Candidate) -> Evaluation:
    return Evaluation(status=Status.WRONG, reason="everything is wrong")


@dataclass
class Search:
    """What happened: asks in order, tells in order, and at each step ("ask" or "tell", number)."""

    asks: list[Request] = field(default_factory=list)
    tells: list[Trial] = field(default_factory=list)
    steps: list[tuple[str, int]] = field(default_factory=list)
    ended: bool = False


def run(
    strategy: Strategy,
    order: int = 0,
    in_flight: int = 4,
    write: Writer = write,
    device: Device = device,
    limit: int = LIMIT,
) -> Search:
    """Ask whenever there is room, tell in an order drawn from `order`, until the end or the limit."""
    rng, search = random.Random(order), Search()
    open_requests: list[Request] = []
    trials: dict[int, Trial] = {}
    while len(search.asks) < limit:
        request = strategy.ask() if len(open_requests) < in_flight else None
        if request is not None:
            search.asks.append(request)
            search.steps.append(("ask", request.number))
            open_requests.append(request)
        if request is None and not open_requests:
            search.ended = True
            break
        if request is None or rng.random() < 0.5:
            told = open_requests.pop(rng.randrange(len(open_requests)))
            candidate = write(told, trials)
            proposal = Proposal(author="law", candidate=candidate, error=None if candidate else "no code")
            evaluation = device(told, candidate) if candidate else None
            trials[told.number] = Trial(request=told, proposal=proposal, evaluation=evaluation)
            search.tells.append(trials[told.number])
            search.steps.append(("tell", told.number))
            strategy.tell(trials[told.number])
    return search


def build(name: str, starter: Candidate | None = STARTER, seed: int = 0) -> Strategy:
    strategy, options = VARIANTS[name]
    return build_strategy(strategy, starter, seed, options)


@functools.cache
def searched(name: str, order: int) -> Search:
    """A search as most laws look at it; they only read it."""
    return run(build(name), order)


@everywhere
def test_the_first_request_is_the_seed_with_the_starter(name: str) -> None:
    assert build(name).ask() == Request(number=0, operator=Operator.SEED, candidate=STARTER)


@everywhere
@orders
def test_every_known_kernel_is_a_seed_after_the_starter_and_is_never_repaired(name: str, order: int) -> None:
    known = [Candidate(source=f"BLOCK = {block}\n# fails: wrong\n") for block in (128, 256)]
    for starter in (STARTER, None):
        strategy, options = VARIANTS[name]
        search = run(build_strategy(strategy, starter, 0, options, known), order)
        first = [Request(number=0, operator=Operator.SEED, candidate=starter)]
        seeds = [Request(number=at, operator=Operator.SEED, candidate=one) for at, one in enumerate(known, start=1)]
        assert search.asks[:3] == first + seeds
        repaired = {request.parents[0] for request in search.asks if request.operator is Operator.REPAIR}
        assert not repaired & {1, 2}


@everywhere
def test_without_a_starter_the_first_request_is_a_seed_to_be_written(name: str) -> None:
    assert build(name, starter=None).ask() == Request(number=0, operator=Operator.SEED)


@everywhere
def test_nothing_is_asked_before_the_seed_is_told(name: str) -> None:
    strategy = build(name)
    strategy.ask()
    assert [strategy.ask() for _ in range(3)] == [None, None, None]


@everywhere
@orders
def test_requests_are_numbered_in_the_order_asked(name: str, order: int) -> None:
    search = searched(name, order)
    assert [request.number for request in search.asks] == list(range(len(search.asks)))
    assert len(search.asks) > 20


@everywhere
@orders
def test_parents_were_told_before_and_passed_unless_they_are_to_be_repaired(name: str, order: int) -> None:
    search = searched(name, order)
    told: dict[int, Trial] = {}
    trials = {trial.number: trial for trial in search.tells}
    for step, number in search.steps:
        if step == "tell":
            told[number] = trials[number]
            continue
        request = search.asks[number]
        assert set(request.parents) <= set(told)
        assert bool(request.parents) == (request.operator is not Operator.SEED) or is_seed_repair(request, told)
        passed = request.parents
        if request.operator is Operator.REPAIR:
            assert is_repairable(told[request.parents[0]])
            passed = request.parents[1:]
        assert all(told[parent].score_us is not None for parent in passed)


@everywhere
@orders
def test_no_candidate_is_repaired_more_than_twice(name: str, order: int) -> None:
    search = searched(name, order)
    chain: dict[int, int] = {}
    for request in search.asks:
        if request.operator is Operator.REPAIR:
            chain[request.number] = chain.get(request.parents[0], 0) + 1
    assert max(chain.values(), default=0) <= 2


@everywhere
@orders
def test_a_merger_is_of_two_kernels_and_every_other_request_names_what_it_starts_from_first(
    name: str, order: int
) -> None:
    for request in searched(name, order).asks:
        if request.operator is Operator.MERGE:
            assert len(set(request.parents)) == 2
        elif request.operator in (Operator.IMPROVE, Operator.REWRITE_SIMPLY, Operator.TUNE):
            assert len(request.parents) == 1


def is_seed_repair(request: Request, told: dict[int, Trial]) -> bool:
    return request.operator is Operator.REPAIR and told[request.parents[0]].request.round == 0


@everywhere
@orders
def test_a_child_belongs_to_a_later_round_than_its_parent_a_repair_to_the_same_a_tuning_to_either(
    name: str, order: int
) -> None:
    search = searched(name, order)
    for request in search.asks:
        if request.operator is Operator.SEED:
            assert request.round == 0
        elif request.operator is Operator.REPAIR:
            assert request.round == search.asks[request.parents[0]].round
        elif request.operator is Operator.TUNE:
            assert request.round >= search.asks[request.parents[0]].round
        else:
            assert all(request.round > search.asks[parent].round for parent in request.parents)


@everywhere
@orders
def test_the_same_tells_in_the_same_places_give_the_same_asks(name: str, order: int) -> None:
    """What a resumed run relies on. Asks that gave nothing are not in the journal, so they must change nothing."""
    first, again = searched(name, order), build(name)
    trials = {trial.number: trial for trial in first.tells}
    for step, number in first.steps:
        if step == "ask":
            assert again.ask() == first.asks[number]
        else:
            again.tell(trials[number])


@everywhere
def test_two_strategies_side_by_side_do_not_disturb_each_other(name: str) -> None:
    one, two = build(name), build(name)
    trials: dict[int, Trial] = {}
    for _ in range(40):
        request = one.ask()
        assert request == two.ask()
        assert request is not None
        candidate = write(request, trials)
        proposal = Proposal(author="law", candidate=candidate)
        evaluation = device(request, candidate) if candidate else None
        trials[request.number] = Trial(request=request, proposal=proposal, evaluation=evaluation)
        one.tell(trials[request.number])
        two.tell(trials[request.number])


@everywhere
@orders
@pytest.mark.parametrize("starter", [STARTER, None], ids=["starter", "no starter"])
@pytest.mark.parametrize("in_flight", [1, 3, 100])
def test_a_search_in_which_everything_fails_ends(
    name: str, order: int, starter: Candidate | None, in_flight: int
) -> None:
    search = run(build(name, starter), order, in_flight, device=broken_device)
    assert search.ended
    assert len(search.asks) == len(search.tells)


@everywhere
@orders
@pytest.mark.parametrize("write", [nothing, the_same], ids=["no candidate", "the same candidate"])
def test_a_search_that_sees_nothing_new_ends(name: str, order: int, write: Writer) -> None:
    search = run(build(name), order, write=write)
    assert search.ended
    assert len(search.asks) > 1


@everywhere
def test_a_seed_that_is_never_written_ends_the_search(name: str) -> None:
    search = run(build(name, starter=None), write=nothing)
    assert search.ended
    assert {request.operator for request in search.asks} == {Operator.SEED}
    assert len(search.asks) > 1


@everywhere
def test_a_starter_that_fails_is_followed_by_a_seed_to_be_written_and_the_search_goes_on(name: str) -> None:
    def first_wrong(request: Request, candidate: Candidate) -> Evaluation:
        first = request.number == 0 or 0 in request.parents or request.operator is Operator.REPAIR
        return broken_device(request, candidate) if first else evaluation_of(candidate, "search")

    def fine(request: Request, trials: dict[int, Trial]) -> Candidate:
        return request.candidate or Candidate(source=f"BLOCK = 64  # {request.number}\n")

    search = run(build(name), write=fine, device=first_wrong, limit=40)
    seeds = [request for request in search.asks if request.operator is Operator.SEED]
    assert [seed.candidate for seed in seeds] == [STARTER, None]
    assert len(search.asks) == 40


@everywhere
@orders
def test_an_ended_search_stays_ended(name: str, order: int) -> None:
    strategy = build(name)
    assert run(strategy, order, write=nothing).ended
    assert [strategy.ask() for _ in range(10)] == [None] * 10


@everywhere
def test_a_strategy_that_is_told_nothing_more_stops_asking(name: str) -> None:
    """Whoever answers prompts by hand gets a round, not an endless list."""
    strategy = build(name)
    first = strategy.ask()
    assert first is not None
    strategy.tell(
        Trial(request=first, proposal=Proposal(author="law", candidate=STARTER), evaluation=device(first, STARTER))
    )
    asked = [request for request in (strategy.ask() for _ in range(64)) if request is not None]
    assert 1 <= len(asked) <= 16
    assert [strategy.ask() for _ in range(3)] == [None] * 3


@everywhere
@orders
def test_no_concrete_candidate_is_asked_for_twice(name: str, order: int) -> None:
    search = searched(name, order)
    concrete = [request.candidate.id for request in search.asks if request.candidate is not None]
    assert len(concrete) == len(set(concrete))


@everywhere
@orders
def test_an_unverified_or_unscored_trial_is_never_built_on(name: str, order: int) -> None:
    def unsure(request: Request, candidate: Candidate) -> Evaluation:
        if request.number % 3 == 1:
            return Evaluation(status=Status.NOT_VERIFIED, reason="bf16 in the interpreter", compiled="x")
        if request.number % 3 == 2:
            return Evaluation(status=Status.PASSED, compiled="y")
        return evaluation_of(candidate, "search")

    search = run(build(name), order, device=unsure, limit=60)
    scored = {trial.number for trial in search.tells if trial.score_us is not None}
    for request in search.asks:
        if request.operator is not Operator.REPAIR:
            assert set(request.parents) <= scored


@everywhere
def test_a_trial_whose_compilers_were_killed_is_told_again_and_what_it_stopped_goes_on(name: str) -> None:
    strategy_name, options = VARIANTS[name]
    strategy = build_strategy(strategy_name, STARTER, 0, options)
    first = strategy.ask()
    assert first is not None
    killed = Evaluation(status=Status.NOT_VERIFIED, killed=True)
    trial = Trial(request=first, proposal=Proposal(author="law", candidate=STARTER), evaluation=killed)
    strategy.tell(trial)
    strategy.tell(Trial(request=first, proposal=trial.proposal, evaluation=device(first, STARTER)))
    asked = strategy.ask()
    assert asked is not None
    assert (asked.parents, asked.operator) != ((first.number,), Operator.REPAIR)
