"""The table of strategies, their options, and the two arms beside the beam."""

from __future__ import annotations

from collections import Counter

import pytest

from fakes import STARTER, trial_of
from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Operator, Request, Trial
from kernelwright.search import STRATEGIES, build_strategy
from kernelwright.search.protocol import Strategy


def finish(request: Request, block: int, comment: str = "") -> Trial:
    candidate = request.candidate or Candidate(source=f"BLOCK = {block}\n# {request.number}\n{comment}")
    trial = trial_of(request.number, candidate)
    return Trial(request=request, proposal=trial.proposal, evaluation=trial.evaluation)


def asked(strategy: Strategy) -> Request:
    request = strategy.ask()
    assert request is not None
    return request


def test_an_unknown_strategy_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        build_strategy("annealing", STARTER, 0)
    assert "'annealing'" in str(caught.value)
    assert "beam, evolve, greedy, random" in str(caught.value)


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_an_unknown_option_is_refused_with_the_options_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match="no option 'temperature'") as caught:
        build_strategy(name, STARTER, 0, {"temperature": 1})
    assert "patience=8" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("beam", {"width": 0}),
        ("beam", {"width": "wide"}),
        ("beam", {"rounds": 0}),
        ("beam", {"expand": 1.5}),
        ("greedy", {"repairs": -1}),
        ("random", {"operator": "merge"}),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_option_and_the_value(
    name: str, options: dict[str, int | str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        build_strategy(name, STARTER, 0, options)
    ((option, value),) = options.items()
    assert name in str(caught.value)
    assert f"$.{option}" in str(caught.value)
    assert str(value) in str(caught.value)


def test_options_typed_on_a_command_line_are_read_as_numbers() -> None:
    strategy = build_strategy("beam", STARTER, 0, {"width": "2", "expand": "3", "rounds": "1"})
    strategy.tell(finish(asked(strategy), 64))
    children = [asked(strategy) for _ in range(6)]
    assert strategy.ask() is None
    for child in children:
        strategy.tell(finish(child, 128))
    assert strategy.ask() is None


def test_greedy_improves_the_best_so_far_and_stays_with_the_earlier_of_equals() -> None:
    strategy = build_strategy("greedy", STARTER, 0)
    parents = []
    for block in (64, 128, 32, 256, 256, 512, 512, 256):
        request = asked(strategy)
        assert strategy.ask() is None
        parents.append(request.parents)
        strategy.tell(finish(request, block))
    assert parents == [(), (0,), (1,), (1,), (3,), (3,), (5,), (5,)]


def test_greedy_repairs_a_failure_before_it_goes_on() -> None:
    strategy = build_strategy("greedy", STARTER, 0, {"repairs": 1})
    strategy.tell(finish(asked(strategy), 64))
    strategy.tell(finish(asked(strategy), 64, "# fails: wrong\n"))
    repair = asked(strategy)
    assert (repair.operator, repair.parents) == (Operator.REPAIR, (1, 0))
    strategy.tell(finish(repair, 64, "# fails: timeout\n"))
    child = asked(strategy)
    assert (child.operator, child.parents) == (Operator.IMPROVE, (0,))


def test_greedy_ends_after_the_steps_it_was_given() -> None:
    strategy = build_strategy("greedy", STARTER, 0, {"steps": 3})
    for _ in range(4):
        strategy.tell(finish(asked(strategy), 64))
    assert strategy.ask() is None


def test_random_draws_every_passing_trial_about_equally_often() -> None:
    strategy = build_strategy("random", STARTER, 0, {"ahead": 400})
    strategy.tell(finish(asked(strategy), 64))
    for block in (128, 256, 512):
        strategy.tell(finish(asked(strategy), block))
    strategy.tell(finish(asked(strategy), 64, "# fails: wrong\n"))
    draws = Counter(asked(strategy).parents for _ in range(400))
    assert set(draws) == {(0,), (1,), (2,), (3,)}
    assert min(draws.values()) > 70


def test_random_draws_depend_on_the_seed_and_not_on_the_order_of_the_tells() -> None:
    def draws(seed: int, backwards: bool) -> list[tuple[int, ...]]:
        strategy = build_strategy("random", STARTER, seed, {"ahead": 30})
        strategy.tell(finish(asked(strategy), 64))
        children = [asked(strategy) for _ in range(6)]
        for child in reversed(children) if backwards else children:
            strategy.tell(finish(child, 128))
        return [asked(strategy).parents for _ in range(30)]

    assert draws(0, backwards=False) == draws(0, backwards=True)
    assert draws(0, backwards=False) != draws(1, backwards=False)


def test_random_tuning_always_varies_the_seed() -> None:
    strategy = build_strategy("random", STARTER, 0, {"operator": "tune"})
    strategy.tell(finish(asked(strategy), 64))
    for block in (128, 256, 512):
        request = asked(strategy)
        assert (request.operator, request.parents, request.round) == (Operator.TUNE, (0,), 1)
        strategy.tell(finish(request, block))
