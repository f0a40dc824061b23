"""Whether a search still sees anything new.

It does not end a search (a strategy does). Only a candidate that no trial had before is new; an
answer without a candidate, and the same one again, are not.
"""

from __future__ import annotations

from kernelwright.model import Trial

PATIENCE = 8
"""Trials in a row without a new candidate after which a strategy gives up. Were every second answer useless, eight
in a row would still have a chance of only 0.4 % (0.5**8)."""


class Staleness:
    """count: results since the last one that brought a new candidate."""

    def __init__(self) -> None:
        self.count = 0
        self._seen: set[str] = set()

    def tell(self, trial: Trial) -> None:
        candidate = trial.proposal.candidate
        if candidate is not None and candidate.id not in self._seen:
            self._seen.add(candidate.id)
            self.count = 0
        else:
            self.count += 1
