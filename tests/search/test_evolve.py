"""Islands: who lives where, who may be whose parent, and when kernels migrate."""

from __future__ import annotations

from fakes import STARTER
from kernelwright.model import Candidate, Evaluation, Operator, Proposal, Request, Scalar, Status, Trial
from kernelwright.search import build_strategy
from kernelwright.search.protocol import Strategy


def tell(strategy: Strategy, request: Request, score_us: float, compiled: str | None = None) -> None:
    candidate = request.candidate or Candidate(source=f"{request.number}")
    evaluation = Evaluation(status=Status.PASSED, score_us=score_us, compiled=compiled or str(request.number))
    strategy.tell(Trial(request=request, proposal=Proposal(author="x", candidate=candidate), evaluation=evaluation))


def generation(strategy: Strategy) -> list[Request]:
    requests = []
    while (request := strategy.ask()) is not None:
        requests.append(request)
    return requests


def begun(seed: int = 0, **options: Scalar) -> Strategy:
    strategy = build_strategy("evolve", STARTER, seed, options)
    (first,) = generation(strategy)
    tell(strategy, first, 1000)
    return strategy


def test_every_island_begins_with_the_seed_and_has_its_own_children() -> None:
    first = generation(begun(islands=3, children=2))
    assert [request.parents for request in first] == [(0,)] * 6
    assert {request.round for request in first} == {1}


def test_without_migration_a_parent_is_the_seed_or_of_the_same_island() -> None:
    strategy = begun(islands=2, children=1, migrate=1000)
    home: dict[int, int] = {}
    for _ in range(12):
        for place, request in enumerate(generation(strategy)):
            assert all(home.get(parent, place) == place for parent in request.parents), request
            home[request.number] = place
            tell(strategy, request, 1000 - request.number)
    assert set(home.values()) == {0, 1}


def test_after_a_migration_the_best_of_the_other_island_may_be_a_parent() -> None:
    strategy = begun(islands=2, children=1, migrate=2, size=2)
    home: dict[int, int] = {}
    crossed = set()
    for _ in range(12):
        for place, request in enumerate(generation(strategy)):
            crossed.update((request.round, parent) for parent in request.parents if home.get(parent, place) != place)
            home[request.number] = place
            tell(strategy, request, 1000 - request.number)
    assert crossed
    assert min(number for number, _ in crossed) >= 2


def test_a_copy_by_compiled_code_takes_no_place() -> None:
    strategy = begun(islands=1, children=2, crossover=1.0)
    for request in generation(strategy):
        tell(strategy, request, 500, compiled="the same")
    for request in generation(strategy):
        assert request.operator is Operator.MERGE
        assert set(request.parents) == {0, 1}, "trial 2 is a copy of trial 1"


def test_crossover_is_a_merger_of_two_that_live_there_and_happens_as_often_as_stated() -> None:
    strategy = begun(islands=1, children=4, crossover=0.5)
    operators = []
    for _ in range(60):
        for request in generation(strategy):
            operators.append(request.operator)
            tell(strategy, request, 1000 - request.number)
    assert 0.4 < operators.count(Operator.MERGE) / len(operators) < 0.6
    assert set(operators) == {Operator.MERGE, Operator.IMPROVE}


def test_only_so_many_live_on_an_island() -> None:
    strategy = begun(islands=1, children=4, size=2, crossover=0.0)
    for _ in range(5):
        requests = generation(strategy)
        for request in requests:
            tell(strategy, request, 1000 - request.number)
    best_two = {requests[-1].number, requests[-2].number}
    assert {parent for request in generation(strategy) for parent in request.parents} <= best_two


def test_what_is_drawn_depends_on_the_seed() -> None:
    def parents(seed: int) -> list[tuple[int, ...]]:
        strategy, found = begun(seed, islands=2, children=2), []
        for _ in range(8):
            for request in generation(strategy):
                found.append(request.parents)
                tell(strategy, request, 1000 - request.number)
        return found

    assert parents(1) == parents(1)
    assert parents(1) != parents(2)


def test_a_repair_lives_where_what_it_repairs_was_asked_for() -> None:
    strategy = begun(islands=2, children=1, migrate=1000)
    one, other = generation(strategy)
    failed = Evaluation(status=Status.WRONG, reason="no")
    strategy.tell(Trial(request=one, proposal=Proposal(author="x", candidate=Candidate(source="a")), evaluation=failed))
    (repair,) = generation(strategy)
    assert repair.operator is Operator.REPAIR
    tell(strategy, repair, 10)
    tell(strategy, other, 2000)
    for _ in range(6):
        first, second = generation(strategy)
        assert repair.number not in second.parents
        tell(strategy, first, 3000 + first.number)
        tell(strategy, second, 3000 + second.number)
