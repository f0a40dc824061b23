"""`report`: what a run found, as text, Markdown, a page or one JSON document; its pictures on request."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import note, say, say_document
from kernelwright.errors import MachineError
from kernelwright.journal import Journal
from kernelwright.report.document import report_document
from kernelwright.report.page import html_page, markdown_page
from kernelwright.report.plots import draw_plots, plots_missing, write_plots
from kernelwright.report.text import report_text
from kernelwright.report.view import read_run

FORMATS = ("text", "md", "html", "json")


@click.command()
@click.argument("run", shell_complete=complete.runs)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Text for a terminal, Markdown for a pull request, one self-contained HTML page, or JSON for scripts.",
)
@click.option("--plots", metavar="DIR", help="Write convergence and roofline into DIR, as SVG and PNG.")
def report(run: str, form: str, plots: str | None) -> None:
    """Print what a run found.

    RUN is a run's folder; it may be at work, finished, or copied from another machine. `optimize` leaves the page as
    RUN/report.html.

    Nothing of the run is executed, and nothing is written into its folder.
    """
    missing = plots_missing()
    if plots is not None and missing:
        raise MachineError(missing)
    with Journal.open(Path(run)) as journal:
        view = read_run(journal)
        if plots is not None:
            for file in write_plots(draw_plots(view), Path(plots)):
                note(f"plot {file}")
        if form == "json":
            say_document(report_document(view))
        else:
            text = {"text": report_text, "md": markdown_page, "html": html_page}[form]
            say(text(view).rstrip("\n"))
