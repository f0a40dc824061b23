"""What a run has paid, as sums that its events keep up to date: tokens, USD, GPU seconds.

`run.spending` adds what is under way and compares with the limits. Each answer counts once: as part of its proposal
where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kernelwright.model import Evaluation, Profile, Usage
from kernelwright.search.convergence import draws_s, gpu_s, profile_s


@dataclass
class Paid:
    """total: of all requests that were answered or evaluated. most: of one of them; None before the first."""

    total: float = 0
    most: float | None = None

    def add(self, amount: float, before: float = 0) -> None:
        """Add what a request took. before: the part of it that was added already."""
        self.total += amount - before
        self.most = amount if self.most is None else max(self.most, amount)


@dataclass
class Spending:
    """usd: tokens without a known price cost nothing here. unpriced: the first author of such tokens. draws_s: by lane,
    the time of the tolerances that its first evaluation measured, which is in no request's `gpu_s`. by_gpu_s: all GPU
    time of evaluations and profiles, by UUID."""

    tokens: Paid = field(default_factory=Paid)
    usd: Paid = field(default_factory=Paid)
    gpu_s: Paid = field(default_factory=Paid)
    unpriced: str | None = None
    draws_s: dict[str, float] = field(default_factory=dict)
    by_gpu_s: dict[str, float] = field(default_factory=dict)
    _taken_s: dict[int, float] = field(default_factory=dict)
    """GPU time of each trial, as in `gpu_s`."""

    def pay(self, author: str, usage: Usage) -> None:
        self.tokens.add(usage.tokens)
        self.usd.add(usage.cost_usd or 0.0)
        if usage.cost_usd is None and usage.tokens > 0:
            self.unpriced = self.unpriced or author

    def evaluate(self, number: int, evaluation: Evaluation) -> None:
        measured_s, is_first = draws_s(evaluation), evaluation.lane not in self.draws_s
        if measured_s and is_first:
            self.draws_s[evaluation.lane] = measured_s
        self._take(number, gpu_s(evaluation) - measured_s * is_first)
        self.by_gpu_s[evaluation.gpu] = self.by_gpu_s.get(evaluation.gpu, 0.0) + gpu_s(evaluation)

    def profile(self, number: int, evaluation: Evaluation | None, profiles: Sequence[Profile]) -> None:
        """evaluation: of the trial that was profiled."""
        if evaluation is not None:
            self._take(number, self._taken_s[number] + profile_s(profiles))
            self.by_gpu_s[evaluation.gpu] += profile_s(profiles)

    def _take(self, number: int, seconds: float) -> None:
        self.gpu_s.add(seconds, self._taken_s.get(number, 0.0))
        self._taken_s[number] = seconds
