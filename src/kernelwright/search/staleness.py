"""Detects a search that finds no new candidates: a counter that strategies compare with their `patience`.

Only a candidate that no trial had before is new. An answer without a candidate and a repeated candidate are not.
"""

from __future__ import annotations

from kernelwright.model import Trial

PATIENCE = 8
"""Trials in a row without a new candidate after which a strategy gives up. Even if every second answer were useless,
eight in a row would have a probability of only 0.4 % (0.5**8)."""


class Staleness:
    """count: results since the last new candidate."""

    def __init__(self) -> None:
        self.count = 0
        self._seen: set[str] = set()

    def tell(self, trial: Trial) -> None:
        candidate = trial.proposal.candidate
        if candidate is not None and candidate.id not in self._seen:
            if trial.evaluation is None or not trial.evaluation.killed:
                self._seen.add(candidate.id)
            self.count = 0
        else:
            self.count += 1
