"""`reply`: hands in the answer to a prompt that a run waits for."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kernelwright.cli import complete
from kernelwright.cli.output import say
from kernelwright.journal import Journal
from kernelwright.propose import deposit_reply, waiting


@click.command()
@click.argument("run", shell_complete=complete.runs)
@click.argument("number", type=click.IntRange(min=0))
@click.argument("file")
def reply(run: str, number: int, file: str) -> None:
    """Hand in the answer to a prompt that a run waits for.

    RUN is a run's folder, NUMBER the prompt's, FILE the answer: Markdown with one block of Python, or a .py file.

    FILE is not executed here; `optimize --resume` judges it, confined.
    """
    with Journal.open(Path(run)):
        placed = deposit_reply(Path(run), number, Path(file))
    left = waiting(Path(run))
    rest = f"{len(left)} more wait: {', '.join(map(str, left))}; or go on" if left else "go on"
    say(f"written to {placed}\n{rest}: {shlex.join(['kernelwright', 'optimize', '--resume', run])}")
