"""`recheck`: is an exported package still right, and still faster, after an upgrade of driver, torch or Triton?

The kernel and the problem are those that the package carries. The rule: right is for the worker to say, on secret
inputs, and faster for the package, measured as its users call it; what cannot be judged here is status 2.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelwright.cli.output import say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import MachineError
from kernelwright.model import Environment, Evaluation, Status

if TYPE_CHECKING:
    from kernelwright.export.recheck import Package, Timed


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
    from kernelwright.codec import plain
    from kernelwright.export.recheck import changes, read_package, still_faster, timed_text

    package = read_package(Path(export))
    evaluation, environment = judged(parts, package, target)
    timed: tuple[Timed, ...] | None = None
    unjudged = "" if no_timing else cannot_time(package, environment)
    right = evaluation.status is Status.PASSED
    if right and not no_timing and not unjudged and package.wins["device"] is not None:
        timed = measured_again(package)
    faster = None if timed is None else still_faster(timed)
    changed = changes(package, environment)
    say(f"{package.name}, kernelwright {package.provenance['kernelwright']}", as_json)
    lines = [f"{one.what}: {one.then} then, {one.now} now" for one in changed] or ["the environment is the same"]
    lines += [f"{name} was changed after it was exported" for name in package.changed]
    lines.append(f"verified on {evaluation.verified_on}: right" if right else f"not right: {evaluation.reason}")
    say("\n".join(lines), as_json)
    if timed is not None:
        say(timed_text(timed), as_json)
    elif right and package.wins["device"] is None:
        say("nothing was measured, so PyTorch serves every call", as_json)
    if as_json:
        document = {
            "schema_version": 1,
            "package": package.name,
            "right": right,
            "faster": faster,
            "changed": changed,
            "edited": package.changed,
            "timed": timed,
            "unjudged": unjudged or None,
            "environment": environment,
            "evaluation": {**plain(evaluation), "log": None},
        }
        say_document(document)
    if evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(f"{export} could not be verified here: {evaluation.reason}", "recheck it on the GPU")
    if right and unjudged:
        raise MachineError(f"{export} is right, but {unjudged}", "recheck it there, or give --no-timing")
    ctx.exit(0 if right and faster is not False else 1)


def judged(parts: Parts, package: Package, target: str | None) -> tuple[Evaluation, Environment]:
    with parts.start_worker(target) as worker:
        worker.load(str(package.reference), package.dtype)
        worker.qualify()
        return worker.evaluate(package.candidate, "verify"), worker.environment()


def cannot_time(package: Package, environment: Environment) -> str:
    """Why whether it is still faster cannot be said here, "" where it can."""
    where = package.wins["device"]
    if where is None or where == environment.device:
        return ""
    return (
        f"whether it is faster was measured on {where}, and this is {environment.device or 'a machine without a GPU'}"
    )


def measured_again(package: Package) -> tuple[Timed, ...]:
    """Every case of the package's `wins.json`, timed by the package itself in a process of its own."""
    from kernelwright.export.recheck import retimed

    with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
        file = Path(scratch) / "again.json"
        path = os.pathsep.join([str(package.home.resolve().parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", f"{package.name}.benchmark", "--again", "--json", str(file)]
        done = subprocess.run(command, stdout=2, env={**os.environ, "PYTHONPATH": path}, check=False)
        if done.returncode != 0 or not file.is_file():
            raise MachineError(f"the benchmark of {package.name} failed", "see its messages above")
        return retimed(package, json.loads(file.read_text(encoding="utf-8")))
