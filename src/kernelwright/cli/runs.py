"""`runs`: which runs lie in a folder, and where each stands.

Not a report on any of them. The rule: reading never disturbs a run at work.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelwright.cli.output import say, say_document
from kernelwright.errors import RequestError, RunFolderError

if TYPE_CHECKING:
    from kernelwright.report.runs import RunLine


@click.command()
@click.argument("folder", default="runs", metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def runs(folder: str, as_json: bool) -> None:
    """List the runs in a folder.

    DIR is ./runs unless given.

    Nothing of the runs is executed.
    """
    from kernelwright.report.runs import runs_text

    home = Path(folder)
    if not home.is_dir():
        raise RequestError(f"no folder at {folder!r}", "name the folder that holds runs, or start one with `optimize`")
    lines = run_lines(home)
    if as_json:
        say_document([asdict(line) for line in lines])
    else:
        say(runs_text(lines) if lines else f"no runs in {folder}")


def run_lines(home: Path) -> list[RunLine]:
    """A line for each run in a folder, also for one that cannot be read."""
    from kernelwright.journal import NAME, Journal
    from kernelwright.report.runs import RunLine, run_line
    from kernelwright.report.view import read_run

    lines = []
    for path in sorted(home.glob(f"*/{NAME}")):
        try:
            with Journal.open(path.parent) as journal:
                lines.append(run_line(read_run(journal)))
        except RunFolderError as error:
            lines.append(RunLine(run=path.parent.name, state=f"unreadable: {error}"))
    return lines
