"""`recheck`: checks an exported package again, for example after an upgrade of driver, torch or Triton.

What cannot be judged on this machine ends with status 2.
"""

from __future__ import annotations

import click

from kernelwright.cli.context import Parts, pass_parts, target_option
from kernelwright.cli.output import note, say, say_document
from kernelwright.codec import plain
from kernelwright.errors import MachineError
from kernelwright.export.recheck import timed_text
from kernelwright.jobs import recheck as job
from kernelwright.model import Status


@click.command()
@click.argument("export", metavar="EXPORT")
@click.option("--no-timing", is_flag=True, help="Only whether it is still right; for machines without the GPU.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def recheck(ctx: click.Context, parts: Parts, export: str, no_timing: bool, target: str | None, as_json: bool) -> None:
    """Check an exported package again: still right, still faster?

    EXPORT is the folder that `export` wrote, or the installed package's. Exit status 1: it is wrong, or slower than
    PyTorch somewhere it is used; 2: this machine could not judge it.

    EXPORT's reference.py is executed with your rights, and so is the whole package where it is timed (--no-timing
    leaves that out); its kernel is judged confined. Read a package from elsewhere first.
    """
    found = job.recheck(export, start_worker=parts.start_worker, notify=note, timing=not no_timing, target=target)
    package, evaluation = found.package, found.evaluation
    say(f"{package.name}, kernelwright {package.provenance['kernelwright']}", as_json)
    lines = [f"{one.what}: {one.then} then, {one.now} now" for one in found.changed]
    lines = lines or ["the environment is the same"]
    lines += [f"{name} was changed after it was exported" for name in package.changed]
    lines.append(f"verified on {evaluation.verified_on}: right" if found.right else f"not right: {evaluation.reason}")
    say("\n".join(lines), as_json)
    if found.timed is not None:
        say(timed_text(found.timed), as_json)
    elif found.right and package.wins["device"] is None:
        say("nothing was measured, so PyTorch serves every call", as_json)
    if as_json:
        document = {
            "schema_version": 1,
            "package": package.name,
            "right": found.right,
            "faster": found.faster,
            "changed": found.changed,
            "edited": package.changed,
            "timed": found.timed,
            "unjudged": found.unjudged or None,
            "environment": found.environment,
            "evaluation": {**plain(evaluation), "log": None},
        }
        say_document(document)
    if evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(f"{export} could not be verified here: {evaluation.reason}", "recheck it on the GPU")
    if found.right and found.unjudged:
        raise MachineError(f"{export} is right, but {found.unjudged}", "recheck it there, or give --no-timing")
    ctx.exit(0 if found.right and found.faster is not False else 1)
