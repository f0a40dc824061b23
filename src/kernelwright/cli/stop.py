"""`stop`: ends a search that is at work, from another terminal, as Ctrl-C does in its own.

It waits until the run's report is written and its journal is closed.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import say
from kernelwright.journal import writer
from kernelwright.run import stop as stop_run

LOOK_S = 0.1


@click.command()
@click.argument("run", shell_complete=complete.runs)
def stop(run: str) -> None:
    """End a running search.

    RUN is its folder. Nothing is lost: proposals under way, which may be paid for, are waited for and recorded;
    evaluations under way are made again when the run is resumed.
    """
    folder = Path(run)
    process = writer(folder)
    stop_run(folder)
    while process is not None and writer(folder) == process:
        time.sleep(LOOK_S)
    say(f"{run} stopped; go on: kernelwright optimize --resume {run}")
