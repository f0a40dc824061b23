"""The gate before anything is judged or timed: a problem that trivial answers solve proves nothing about a kernel.

Not the full report (`check`). The rule: going on all the same has to be asked for, and is said in every result.
"""

from __future__ import annotations

import click

from kernelwright.cli.output import note
from kernelwright.errors import ProblemError
from kernelwright.evaluator.client import Worker

unqualified_option = click.option(
    "--unqualified",
    is_flag=True,
    help="Go on even if the problem accepts trivial answers (see `check`); every result is marked.",
)


def pass_gate(worker: Worker, problem: str, unqualified: bool) -> None:
    """Raise `ProblemError` where the loaded problem does not qualify, unless that was allowed. problem: as typed."""
    report = worker.qualify()
    if report.qualifies is False:
        if not unqualified:
            raise ProblemError(
                f"{problem} does not qualify: {report.reason}",
                f"draw its inputs so that both signs and all of them count (torch.randn); kernelwright check {problem} "
                "shows more, --unqualified goes on all the same",
            )
        note(f"going on although {problem} does not qualify: {report.reason}")
    elif report.qualifies is None:
        reasons = "; ".join(sorted(set(report.not_judged.values())))
        note(f"whether {problem} tells a kernel from a trivial answer was not judged here: {reasons}")
