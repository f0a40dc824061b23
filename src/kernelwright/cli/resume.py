"""`resume`: continues a paused search. A run whose process has ended is continued by `optimize --resume`."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import say
from kernelwright.run import at_work, is_paused
from kernelwright.run import resume as resume_run


@click.command()
@click.argument("run", shell_complete=complete.runs)
def resume(run: str) -> None:
    """Continue a paused search.

    RUN is its folder. For a run whose process has ended: `kernelwright optimize --resume RUN`.
    """
    folder = Path(run)
    at_work(folder)
    was_paused = is_paused(folder)
    resume_run(folder)
    say(f"{run} goes on" if was_paused else f"{run} was not paused")
