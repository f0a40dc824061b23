"""The check that a problem qualifies, for the verbs that still import it from here."""

from __future__ import annotations

from kernelwright.cli.context import unqualified_option
from kernelwright.cli.output import note
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.loading import require_qualified

__all__ = ["pass_gate", "unqualified_option"]


def pass_gate(worker: Worker, problem: str, unqualified: bool) -> None:
    """Raise `ProblemError` where the loaded problem does not qualify, unless that was allowed. problem: as typed."""
    require_qualified(worker, problem, note, unqualified)
