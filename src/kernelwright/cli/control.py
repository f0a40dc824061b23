"""`pause`, `resume` and `stop`: control a search that is at work from another terminal."""

from __future__ import annotations

import time
from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import say
from kernelwright.journal import writer
from kernelwright.run import at_work, is_paused
from kernelwright.run import pause as pause_run
from kernelwright.run import resume as resume_run
from kernelwright.run import stop as stop_run

LOOK_S = 0.1


@click.command()
@click.argument("run", shell_complete=complete.runs)
def pause(run: str) -> None:
    """Pause a running search.

    RUN is its folder. Work under way is finished, nothing more is asked, and no budget in minutes is spent until
    `kernelwright resume RUN`. The process keeps its worker, so going on costs nothing.
    """
    pause_run(Path(run))
    say(f"{run} pauses when what is under way is finished; go on: kernelwright resume {run}")


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
