"""`report`: what a run found, as text or as one JSON document.

It measures nothing and writes no file. The rule: the same journal gives the same report.
"""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli.output import say, say_document


@click.command()
@click.argument("run")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people or scripts.",
)
def report(run: str, form: str) -> None:
    """Print what a run found.

    RUN is a run's folder; it may be at work, finished, or copied from another machine.
    """
    from kernelwright.journal import Journal
    from kernelwright.report.document import report_document
    from kernelwright.report.text import report_text
    from kernelwright.report.view import read_run

    with Journal.open(Path(run)) as journal:
        view = read_run(journal)
        if form == "json":
            say_document(report_document(view))
        else:
            say(report_text(view).rstrip("\n"))
