"""`pause`: pauses a search that is at work, from another terminal.

What is under way is finished and recorded first, and the pause costs no budget.
"""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import say
from kernelwright.run import pause as pause_run


@click.command()
@click.argument("run", shell_complete=complete.runs)
def pause(run: str) -> None:
    """Pause a running search.

    RUN is its folder. Work under way is finished, nothing more is asked, and no budget in minutes is spent until
    `kernelwright resume RUN`. The process keeps its worker, so going on costs nothing.
    """
    pause_run(Path(run))
    say(f"{run} pauses when what is under way is finished; go on: kernelwright resume {run}")
