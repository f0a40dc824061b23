"""The scheduler of many searches under one budget: which problem gets the next round, and what the round may spend.

It follows Ansor's task scheduler (Zheng et al., OSDI 2020, section 6): the next round goes to the problem with the
largest expected gain for its cost. Ansor guesses the time that a problem can reach; here the roofline bound says it.
Pure: a function of what the rounds have brought, so the same rounds lead to the same choices.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.model import BUDGET_LIMITS, Budget

ALPHA = 0.2
"""Weight of the recent gain beside the gain that is left (Ansor's value)."""

WINDOW = 3
"""Rounds over which the recent gain is averaged (MetaSchedule's value)."""

NEAR = 0.9
"""Share of the bound at which a problem gets no more rounds: kernels of the gallery that were tuned by hand reach about
that much (docs/gallery.md)."""

RESOLUTION = 0.02
"""Smallest change of a time, as a fraction, that counts as a gain: two sessions measure in memory of their own, where
copies of one kernel differed by up to that (docs/evaluation.md)."""

PATIENCE = 3
"""Rounds without a gain after which a problem waits until all others are at their end, too."""


@dataclass(frozen=True)
class Round:
    """What one round has brought. best_us: the best time after it, None while no kernel has passed. spent: amounts by
    name of the limit."""

    best_us: float | None
    spent: Mapping[str, float]


@dataclass(frozen=True)
class Curve:
    """All rounds of one problem so far.

    bound_us: what no kernel can beat, 0 where that is not known. is_over: whether it can get no more rounds now.
    weight: how much a gain of this problem counts beside the same fraction of another.
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
        """Of each round after the first, the fraction by which it lowered the best time; 1 for the first kernel."""
        pairs = zip(self.rounds, self.rounds[1:], strict=False)
        return tuple(_gain(before.best_us, after.best_us) for before, after in pairs)

    @property
    def is_stale(self) -> bool:
        """Whether its last rounds gained nothing."""
        return len(self.gains) >= PATIENCE and not any(gain >= RESOLUTION for gain in self.gains[-PATIENCE:])


@dataclass(frozen=True)
class Grant:
    """The next round. limits: what it may spend, beyond what the problem has spent before."""

    name: str
    limits: Budget


def next_round(
    curves: Mapping[str, Curve], total: Budget, round_trials: int, beside: Mapping[str, float] | None = None
) -> Grant | None:
    """Who gets the next round; None where nothing is to be gained or the budget is spent.

    curves: by name, in the order of the first rounds: every problem gets its first one before any gets its second, and
    until then the budget is shared out evenly. round_trials: the most trials of a round. beside: what was spent outside
    of all rounds.
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
    """Expected gain of the next round for what it may cost. total: the budget of all problems."""
    return curve.weight * expected_gain(curve) / dearest_share(curve, total)


def expected_gain(curve: Curve) -> float:
    """Fraction of the best time that the next round is expected to save; 0 at the bound, and where all is over.

    The recent gain, and of what is left to the bound a part that falls with the rounds: the chance of a gain by
    Laplace's rule of succession, over their number.
    """
    left = gain_left(curve)
    if curve.is_over or left < RESOLUTION:
        return 0.0
    gains = curve.gains
    recent = sum(gains[-WINDOW:]) / len(gains[-WINDOW:]) if gains else 0.0
    chance = (1 + sum(gain >= RESOLUTION for gain in gains)) / (2 + len(gains))
    return ALPHA * min(recent, left) + (1 - ALPHA) * chance * left / max(len(curve.rounds), 1)


def gain_left(curve: Curve) -> float:
    """Fraction of the best time between it and NEAR of the bound; all of it while no kernel has passed."""
    return 1.0 if curve.best_us is None else max(0.0, 1 - curve.bound_us / NEAR / curve.best_us)


def dearest_share(curve: Curve, total: Budget) -> float:
    """Of the limit that its dearest round took most of, the share that it took; no less than a millionth."""
    shares = [
        one.spent.get(limit.name, 0.0) / most
        for one in curve.rounds
        for limit in BUDGET_LIMITS
        if (most := limit.of(total)) is not None
    ]
    return max([*shares, 1e-6])


def amounts_left(curves: Mapping[str, Curve], total: Budget, beside: Mapping[str, float]) -> dict[str, float]:
    """What is left of each limit that there is."""
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
    """What a round may spend where `begin` problems, itself among them, share what is left."""
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
