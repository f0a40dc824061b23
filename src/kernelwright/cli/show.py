"""`show`: prints a table of a run's trials, or one trial in full, as the journal has them."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.context import json_option
from kernelwright.cli.output import say, say_document
from kernelwright.errors import RequestError
from kernelwright.journal import Journal
from kernelwright.report.document import trial_document
from kernelwright.report.trials import trial_text, trials_table
from kernelwright.report.view import read_run


@click.command()
@click.argument("run", shell_complete=complete.runs)
@click.argument("trial", type=int, required=False)
@json_option
def show(run: str, trial: int | None, as_json: bool) -> None:
    """Print a run's trials, or one of them whole.

    RUN is a run's folder, TRIAL the number of a trial.

    Nothing of the run is executed.
    """
    with Journal.open(Path(run)) as journal:
        view = read_run(journal)
    chosen = [one for one in view.trials if trial is None or one.number == trial]
    if trial is not None and not chosen:
        is_open = any(request.number == trial for request in view.open_requests)
        state = "is not finished yet" if is_open else f"is not there; {len(view.trials)} are finished"
        raise RequestError(f"trial {trial} of {run} {state}", f"see `kernelwright show {run}`")
    if as_json:
        documents = [trial_document(one, view) for one in chosen]
        say_document(documents if trial is None else documents[0])
    else:
        say(trials_table(view) if trial is None else trial_text(chosen[0], view))
