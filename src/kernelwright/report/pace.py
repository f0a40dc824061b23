"""Estimates when a search will have spent its budget, if it continues at its pace so far.

Pure arithmetic. The strategy may end the search earlier.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.model import BUDGET_LIMITS, Budget

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
