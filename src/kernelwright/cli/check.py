"""`check`: says which trivial answers a problem would accept, and the bound of each case. No candidate takes part."""

from __future__ import annotations

import click

from kernelwright.cli import complete
from kernelwright.cli.context import (
    cases_option,
    dtype_option,
    json_option,
    library_option,
    loading_options,
    worker_command,
)
from kernelwright.cli.output import say, say_document
from kernelwright.errors import MachineError
from kernelwright.jobs import check as job
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading
from kernelwright.report.qualification import check_text


@click.command()
@click.argument("problem", shell_complete=complete.problems)
@loading_options(dtype_option, cases_option(), library_option)
@json_option
@worker_command
def check(ctx: click.Context, desk: Desk, problem: str, loading: Loading, as_json: bool) -> None:
    """Show which trivial answers a problem would accept, and at which tolerance.

    PROBLEM is a file, a folder with problem.py, or a name in the gallery. Zeros, a constant, an unchanged input, the
    output for other inputs, part of the output, the output rounded to fewer bits, and the answers of kernels that
    ignore an input, a parameter or a buffer must all be rejected on every case. Then the bound of each case follows,
    with what it assumes; on a GPU eager PyTorch is timed beside it. Exit status 1: a trivial answer would pass; 2: this
    machine could compute no case.

    PROBLEM's file is executed with your rights.
    """
    found = job.check(problem, loading, desk=desk)
    report = found.qualification
    say(check_text(found.problem, report, found.eager, found.environment), as_json)
    say_document(found.document(), as_json)
    if report.qualifies is None:
        reasons = "; ".join(sorted(set(report.not_judged.values())))
        raise MachineError(f"no case of {problem} could be judged here: {reasons}", "use a machine with a GPU")
    ctx.exit(0 if report.qualifies else 1)
