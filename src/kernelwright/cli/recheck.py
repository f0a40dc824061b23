"""`recheck`: checks an exported package again, for example after an upgrade of driver, torch or Triton."""

from __future__ import annotations

import click

from kernelwright.cli.context import json_option, worker_command
from kernelwright.cli.output import say, say_document
from kernelwright.errors import MachineError
from kernelwright.export.recheck import recheck_text
from kernelwright.jobs import recheck as job
from kernelwright.jobs.worker import Desk
from kernelwright.model import Status


@click.command()
@click.argument("export", metavar="EXPORT")
@click.option("--no-timing", is_flag=True, help="Only whether it is still right; for machines without the GPU.")
@json_option
@worker_command
def recheck(ctx: click.Context, desk: Desk, export: str, no_timing: bool, as_json: bool) -> None:
    """Check an exported package again: still right, still faster?

    EXPORT is the folder that `export` wrote, or the installed package's. Exit status 1: it is wrong, or slower than
    PyTorch somewhere it is used; 2: this machine could not judge it.

    EXPORT's reference.py is executed with your rights, and so is the whole package where it is timed (--no-timing
    leaves that out); its kernel is judged confined. Read a package from elsewhere first.
    """
    found = job.recheck(export, desk=desk, timing=not no_timing)
    say(recheck_text(found.package, found.changed, found.evaluation, found.timed), as_json)
    say_document(found.document(), as_json)
    if found.evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(f"{export} could not be verified here: {found.evaluation.reason}", "recheck it on the GPU")
    if found.right and found.unjudged:
        raise MachineError(f"{export} is right, but {found.unjudged}", "recheck it there, or give --no-timing")
    ctx.exit(0 if found.right and found.faster is not False else 1)
