"""`new`: writes a folder with a problem and a starter that work, for the user to change. It overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli.output import say
from kernelwright.problems import new_problem


@click.command()
@click.argument("name")
@click.option(
    "--in", "folder", default=".", show_default=True, metavar="DIR", help="Where the problem's folder is made."
)
def new(name: str, folder: str) -> None:
    """Write a problem to start from.

    Makes the folder NAME with problem.py (the reference computation, its inputs and cases) and starter.py (a Triton
    kernel that passes). Change both, then `verify`, then `optimize`.
    """
    problem = new_problem(name, Path(folder))
    home = problem.file.parent
    shown = Path(folder) / name
    say(
        f"wrote {', '.join(sorted(file.name for file in home.iterdir()))} to {shown}\n"
        f"next:\n  kernelwright check {shown}\n  kernelwright verify {shown} {shown / 'starter.py'}\n"
        f"  kernelwright optimize {shown}"
    )
