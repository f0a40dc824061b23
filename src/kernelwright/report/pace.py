"""The pace of a search: how busy it keeps each GPU, and when it will have spent its budget at this pace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kernelwright.model import BUDGET_LIMITS, Budget, Evaluation, Profile
from kernelwright.search.convergence import gpu_s
from kernelwright.text.units import share_text

ENOUGH_TRIALS = 2
"""Fewer trials give no estimate: the first one also pays for starting everything."""


def ends_in_s(budget: Budget, spent: Mapping[str, float]) -> float | None:
    """Seconds until the first limit is reached; None where there is no limit or too little to go by. spent: by name of
    the limit."""
    found = []
    for limit in BUDGET_LIMITS:
        most, used = limit.of(budget), spent[limit.name]
        if most is None:
            continue
        if limit.name == "minutes":
            found.append(max(most - used, 0.0) * 60)
        elif used > 0 and spent["trials"] >= ENOUGH_TRIALS:
            found.append(max(most - used, 0.0) * 60 * spent["minutes"] / used)
    return min(found, default=None)


def busy_text(spent_s: Mapping[str, float], elapsed_s: float) -> str:
    """The share of the time that candidates had the GPU, and where there are several, that of each.

    spent_s: by UUID. "" beside others is left out: a verdict of an earlier run took no time of these GPUs.
    """
    shares = {gpu: one_s / elapsed_s for gpu, one_s in spent_s.items() if gpu or len(spent_s) == 1}
    mean = share_text(sum(shares.values()) / max(1, len(shares)))
    if len(shares) < 2:
        return mean
    return f"{mean} of {len(shares)} GPUs ({', '.join(f'{gpu} {share_text(one)}' for gpu, one in shares.items())})"


def seconds_by_gpu(trials: Iterable[tuple[Evaluation | None, Sequence[Profile]]]) -> dict[str, float]:
    """GPU seconds that candidates took, by UUID. trials: evaluation and profiles of each."""
    found: dict[str, float] = {}
    for evaluation, profiles in trials:
        if evaluation is not None:
            found[evaluation.gpu] = found.get(evaluation.gpu, 0.0) + gpu_s(evaluation, profiles)
    return found
