"""When a budget will be spent."""

from __future__ import annotations

import pytest

from kernelwright.model import Budget
from kernelwright.report.progress import ends_in_s

SPENT = {"trials": 10, "minutes": 100 / 60, "tokens": 2000, "usd": 0.5, "gpu_seconds": 0.0}


@pytest.mark.parametrize(
    ("budget", "left_s"),
    [
        (Budget(), None),
        (Budget(trials=40), 300.0),
        (Budget(minutes=5), 200.0),
        (Budget(tokens=3000), 50.0),
        (Budget(usd=2.0), 300.0),
        (Budget(trials=40, minutes=5, tokens=3000), 50.0),
        (Budget(trials=5), 0.0),
    ],
)
def test_the_limit_that_is_reached_first_decides(budget: Budget, left_s: float | None) -> None:
    assert ends_in_s(budget, SPENT) == (None if left_s is None else pytest.approx(left_s))


def test_one_trial_says_nothing_about_the_next_but_a_limit_in_minutes_holds() -> None:
    first = SPENT | {"trials": 1}
    assert ends_in_s(Budget(trials=40), first) is None
    assert ends_in_s(Budget(minutes=2), first) == pytest.approx(20.0)


def test_what_costs_nothing_sets_no_end() -> None:
    assert ends_in_s(Budget(usd=1.0), SPENT | {"usd": 0.0}) is None
