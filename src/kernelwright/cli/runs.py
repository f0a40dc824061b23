"""`runs`: lists the runs in a folder and the state of each. Reading does not disturb a run at work."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from kernelwright.cli.context import json_option
from kernelwright.cli.output import say, say_document
from kernelwright.errors import RequestError
from kernelwright.report.runs import run_lines, runs_text


@click.command()
@click.argument("folder", default="runs", metavar="[DIR]")
@json_option
def runs(folder: str, as_json: bool) -> None:
    """List the runs in a folder.

    DIR is ./runs unless given.

    Nothing of the runs is executed.
    """
    home = Path(folder)
    if not home.is_dir():
        raise RequestError(f"no folder at {folder!r}", "name the folder that holds runs, or start one with `optimize`")
    lines = run_lines(home)
    if as_json:
        say_document([asdict(line) for line in lines])
    else:
        say(runs_text(lines) if lines else f"no runs in {folder}")
