"""`compare`: two runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.context import json_option
from kernelwright.cli.output import say, say_document
from kernelwright.journal import Journal
from kernelwright.report.compare import compare_runs, compare_text
from kernelwright.report.view import read_run


@click.command()
@click.argument("first", metavar="RUN", shell_complete=complete.runs)
@click.argument("second", metavar="RUN", shell_complete=complete.runs)
@json_option
def compare(first: str, second: str, as_json: bool) -> None:
    """Compare two runs.

    Each RUN is a run's folder. Shows what each was, found and cost, and both kernels case by case, where problem and
    device are the same. A ratio is the first's time over the second's.

    Nothing of the runs is executed.
    """
    with Journal.open(Path(first)) as one, Journal.open(Path(second)) as other:
        found = compare_runs(read_run(one), read_run(other))
    if as_json:
        say_document(found)
    else:
        say(compare_text(found))
