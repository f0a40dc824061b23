"""The task scheduler for several searches under one budget: which problem gets the next round, and its limits.

It follows Ansor's task scheduler (Zheng et al., OSDI 2020, section 6): the next round goes to the problem with the
largest expected gain per cost. Ansor estimates the best reachable time of a problem; here the roofline bound gives it.
Pure: the choice is a function of the results of the rounds so far.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.model import BUDGET_LIMITS, Budget

ALPHA = 0.2
"""Weight of the recent gain; the gain that is still possible has the weight 1 - ALPHA (Ansor's value)."""

WINDOW = 3
"""Rounds over which the recent gain is averaged (MetaSchedule's value)."""

NEAR = 0.9
"""Share of the bound at which a problem gets no more rounds. Hand-tuned kernels of the gallery reach about this share
(docs/gallery.md)."""

RESOLUTION = 0.02
"""Smallest relative change of a time that counts as a gain. Each session allocates its own memory, and copies of one
kernel in different memory differed by up to this much (docs/evaluation.md)."""

PATIENCE = 3
"""Rounds without a gain after which a problem waits until all other problems have ended or are stale too."""


@dataclass(frozen=True)
class Round:
    """The result of one round. best_us: the best time after it, None while no kernel has passed. spent: amounts by name
    of the limit."""

    best_us: float | None
    spent: Mapping[str, float]


@dataclass(frozen=True)
class Curve:
    """All rounds of one problem so far.

    bound_us: the roofline bound, 0 where it is not known. is_over: whether the problem can get no more rounds now.
    weight: importance of a gain of this problem, relative to the same gain of another one.
    """

    rounds: tuple[Round, ...] = ()
    bound_us: float = 0.0
    is_over: bool = False
    weight: float = 1.0

    @property
    def best_us(self) -> float | None:
        """None before the first kernel has passed."""
        return self.rounds[-1].best_us if self.rounds else None

    @functools.cached_property
    def gains(self) -> tuple[float, ...]:
        """For each round after the first, the fraction by which it lowered the best time; 1 for the first kernel that
        passed."""
        pairs = zip(self.rounds, self.rounds[1:], strict=False)
        return tuple(_gain(before.best_us, after.best_us) for before, after in pairs)

    @property
    def is_stale(self) -> bool:
        """Whether the last PATIENCE rounds brought no gain."""
        return len(self.gains) >= PATIENCE and not any(gain >= RESOLUTION for gain in self.gains[-PATIENCE:])


@dataclass(frozen=True)
class Grant:
    """The next round. limits: what this round may spend, not counting earlier rounds of the problem."""

    name: str
    limits: Budget


def next_round(
    curves: Mapping[str, Curve], total: Budget, round_trials: int, beside: Mapping[str, float] | None = None
) -> Grant | None:
    """Choose the problem of the next round; None where no gain is expected or the budget is spent.

    curves: by name, in the order of the first rounds. Every problem gets its first round before any gets its second;
    until then the budget is divided evenly. round_trials: maximum trials of a round. beside: amounts spent outside of
    all rounds.
    """
    left = amounts_left(curves, total, beside or {})
    if any(amount < (1 if is_whole(name) else 1e-9) for name, amount in left.items()):
        return None
    begins = [name for name, curve in curves.items() if not curve.rounds and not curve.is_over]
    if begins:
        return Grant(begins[0], limits_of(left, round_trials, len(begins)))
    promising = {name: curve for name, curve in curves.items() if curve.rounds and expected_gain(curve) > 0}
    chosen = {name: curve for name, curve in promising.items() if not curve.is_stale} or promising
    if not chosen:
        return None
    best = max(chosen, key=lambda name: priority(chosen[name], total))
    return Grant(best, limits_of(left, round_trials, 1))


def priority(curve: Curve, total: Budget) -> float:
    """Weighted expected gain of the next round / its expected cost. total: the budget of all problems."""
    return curve.weight * expected_gain(curve) / dearest_share(curve, total)


def expected_gain(curve: Curve) -> float:
    """The fraction of the best time that the next round is expected to save; 0 near the bound and for a problem that is
    over.

    It weighs the recent gain with a share of the gain that is still possible. That share is the chance of a gain by
    Laplace's rule of succession, divided by the number of rounds.
    """
    left = gain_left(curve)
    if curve.is_over or left < RESOLUTION:
        return 0.0
    gains = curve.gains
    recent = sum(gains[-WINDOW:]) / len(gains[-WINDOW:]) if gains else 0.0
    chance = (1 + sum(gain >= RESOLUTION for gain in gains)) / (2 + len(gains))
    return ALPHA * min(recent, left) + (1 - ALPHA) * chance * left / max(len(curve.rounds), 1)


def gain_left(curve: Curve) -> float:
    """The gain that is still possible, as a fraction of the best time: down to bound / NEAR. 1 while no kernel has
    passed."""
    return 1.0 if curve.best_us is None else max(0.0, 1 - curve.bound_us / NEAR / curve.best_us)


def dearest_share(curve: Curve, total: Budget) -> float:
    """The cost of a round: the largest share of any limit that one round has used; at least 1e-6."""
    shares = [
        one.spent.get(limit.name, 0.0) / most
        for one in curve.rounds
        for limit in BUDGET_LIMITS
        if (most := limit.of(total)) is not None
    ]
    return max([*shares, 1e-6])


def amounts_left(curves: Mapping[str, Curve], total: Budget, beside: Mapping[str, float]) -> dict[str, float]:
    """The amount left of each limit that is set."""
    spent = {
        limit.name: sum(one.spent.get(limit.name, 0.0) for curve in curves.values() for one in curve.rounds)
        for limit in BUDGET_LIMITS
    }
    return {
        limit.name: most - spent[limit.name] - beside.get(limit.name, 0.0)
        for limit in BUDGET_LIMITS
        if (most := limit.of(total)) is not None
    }


def limits_of(left: Mapping[str, float], round_trials: int, begin: int) -> Budget:
    """Limits of one round, where `begin` problems (this one included) share the rest of the budget."""
    found: dict[str, float] = {}
    for name, amount in {"trials": float(round_trials * begin), **left}.items():
        most = min(amount, float(round_trials * begin)) if name == "trials" else amount
        found[name] = max(int(most / begin), 1) if is_whole(name) else most / begin
    return Budget(**found)  # type: ignore[arg-type]


def is_whole(name: str) -> bool:
    """Whether amounts of a limit are whole numbers."""
    return name in ("trials", "tokens")


def _gain(before_us: float | None, after_us: float | None) -> float:
    if after_us is None:
        return 0.0
    return 1.0 if before_us is None else max(0.0, (before_us - after_us) / before_us)
