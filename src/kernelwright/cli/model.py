"""`model`: where the time of a whole model goes, and what could be won."""

from __future__ import annotations

import click

from kernelwright.cli.context import json_option, worker_command
from kernelwright.cli.output import say, say_document
from kernelwright.jobs import whole_model as job
from kernelwright.jobs.worker import Desk


@click.command()
@click.argument("script", metavar="SCRIPT.py[:FUNCTION]")
@click.option("--out", default=job.MODELS, show_default=True, metavar="FOLDER", help="Write problems to FOLDER/NAME.")
@click.option("--max-autotune", is_flag=True, help="Also time torch.compile's max-autotune mode (slow).")
@json_option
@worker_command
def model(ctx: click.Context, desk: Desk, script: str, out: str, max_autotune: bool, as_json: bool) -> None:
    """Show where the time of a whole model goes, and what could be won before any search.

    SCRIPT defines build(), which returns a torch.nn.Module, and inputs(), which returns a dict of named sets of
    arguments. FUNCTION is another name for build. Regions between library calls are written as problems and checked;
    `kernelwright optimize FOLDER/NAME` searches them. Without a GPU all times are estimates.

    SCRIPT is executed with your rights.
    """

    def show(text: str) -> None:
        say(f"{text}\n", as_json)

    found = job.survey_model(script, out=out, max_autotune=max_autotune, desk=desk, show=show)
    say(found.outcome_text, as_json)
    say_document(found.document(), as_json)
