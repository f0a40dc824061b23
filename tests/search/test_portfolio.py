"""The bandit that chooses operators: its formula, and what follows from it."""

from __future__ import annotations

import math

import pytest

from kernelwright.model import Operator
from kernelwright.search.portfolio import DARING, MISSES, Portfolio

WRITERS = (Operator.IMPROVE, Operator.MERGE, Operator.REWRITE_SIMPLY)


def asked(*operators: Operator, gained: tuple[Operator, ...] = ()) -> Portfolio:
    portfolio = Portfolio()
    for operator in operators:
        portfolio.asked(operator)
    for operator in gained:
        portfolio.gained(operator)
    return portfolio


def test_the_index_is_the_stated_formula() -> None:
    portfolio = asked(*[Operator.IMPROVE] * 5, Operator.MERGE, gained=(Operator.IMPROVE, Operator.IMPROVE))
    assert portfolio.index(Operator.IMPROVE) == pytest.approx(3 / 7 + DARING * math.sqrt(math.log(7) / 6))
    assert portfolio.index(Operator.MERGE) == pytest.approx(1 / 7 + DARING * math.sqrt(math.log(7) / 2))
    assert portfolio.index(Operator.TUNE) == pytest.approx(1 / 6 + DARING * math.sqrt(math.log(7)))


def test_among_equals_the_first_of_the_table_is_chosen_whatever_order_they_come_in() -> None:
    assert asked().choose(reversed(MISSES)) is Operator.IMPROVE
    assert asked().choose([Operator.TUNE, Operator.REWRITE_SIMPLY]) is Operator.REWRITE_SIMPLY


def test_requests_of_one_round_differ_because_what_is_under_way_is_no_gain_yet() -> None:
    portfolio = asked()
    chosen = []
    for _ in range(8):
        chosen.append(portfolio.choose(WRITERS))
        portfolio.asked(chosen[-1])
    assert chosen[:3] == [Operator.IMPROVE] * 3
    assert set(chosen) == set(WRITERS)


@pytest.mark.parametrize("good", WRITERS)
def test_an_operator_that_gains_is_asked_for_more_than_all_others_together(good: Operator) -> None:
    portfolio, chosen = asked(), []
    for _ in range(60):
        chosen.append(portfolio.choose(WRITERS))
        portfolio.asked(chosen[-1])
        if chosen[-1] is good and chosen.count(good) % 5 < 3:
            portfolio.gained(good)
    assert chosen.count(good) > 30


def test_where_nothing_gains_none_is_forgotten() -> None:
    portfolio, chosen = asked(), []
    for _ in range(40):
        chosen.append(portfolio.choose(WRITERS))
        portfolio.asked(chosen[-1])
    assert all(chosen.count(operator) >= 8 for operator in WRITERS)


def test_what_was_never_asked_for_is_not_given_up_and_the_worst_of_those_asked_is() -> None:
    assert not asked(Operator.IMPROVE).gives_up(Operator.REPAIR)
    praised = asked(*[Operator.IMPROVE] * 4, gained=(Operator.IMPROVE,) * 4)
    assert praised.index(Operator.REPAIR) < praised.index(Operator.IMPROVE)
    assert not praised.gives_up(Operator.REPAIR), "its index is the lowest, and nobody knows what it would gain"
    assert not asked(Operator.REPAIR).gives_up(Operator.REPAIR)
    gained = (Operator.IMPROVE,) * 3
    assert asked(*[Operator.IMPROVE] * 4, *[Operator.REPAIR] * 4, gained=gained).gives_up(Operator.REPAIR)
    assert not asked(*[Operator.IMPROVE] * 4, *[Operator.REPAIR] * 4, gained=gained).gives_up(Operator.IMPROVE)
