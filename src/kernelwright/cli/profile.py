"""`profile`: says how far a candidate is from the bound, and which bottleneck holds it back, with the evidence."""

from __future__ import annotations

from typing import Any

import click

from kernelwright.cli import complete, options
from kernelwright.cli.context import (
    config_option,
    dtype_option,
    json_option,
    library_option,
    loading_options,
    worker_command,
)
from kernelwright.cli.output import say, say_document
from kernelwright.jobs import profile as job
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading
from kernelwright.report.profiled import document, profiled_text


@click.command()
@click.argument("problem", shell_complete=complete.problems)
@click.argument("candidate")
@config_option("candidate's tunables, or a JSON file of them")
@click.option(
    "--case", "cases", multiple=True, metavar="NAME", help="Only this case. Repeatable; default: the timed ones."
)
@click.option("--framework", is_flag=True, help="Profile eager and torch.compile beside it; needs a GPU.")
@click.option(
    "--full", is_flag=True, help="Read every counter that the profiler has (several times as long) and show all."
)
@loading_options(dtype_option, library_option)
@json_option
@worker_command
def profile(
    ctx: click.Context,
    desk: Desk,
    /,
    problem: str,
    candidate: str,
    config: tuple[str, ...],
    loading: Loading,
    as_json: bool,
    **given: Any,
) -> None:
    """Show how far a candidate is from the bound, its bottleneck, and what could help.

    Uses Nsight Compute where it may read the GPU's counters, else torch's profiler, else what the compiler says; the
    last needs no GPU. Exit status 1: the candidate is wrong or does not run.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    found = job.profile(
        problem,
        options.candidate(candidate, config),
        job.ProfileSettings(loading=loading, **given),
        desk=desk,
        show=lambda one: say(profiled_text(one, given["full"]) + "\n", as_json),
        name=candidate,
    )
    say_document(document(found.problem, found.environment, found.profiles, found.failure), as_json)
    ctx.exit(0 if found.failure is None else 1)
