"""`profile`: says how far a candidate is from the bound, and the one bottleneck that holds it back, with the evidence.

Every counter is shown with the tool that read it, and without a GPU the text says that nothing ran.
"""

from __future__ import annotations

import click

from kernelwright.cli import complete, options
from kernelwright.cli.context import dtype_option, json_option, library_option, loading_options, worker_command
from kernelwright.cli.output import say, say_document
from kernelwright.jobs import profile as job
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading
from kernelwright.report.profiled import document, profiled_text


@click.command()
@click.argument("problem", shell_complete=complete.problems)
@click.argument("candidate")
@click.option(
    "--config",
    multiple=True,
    metavar="KEY=VALUE|FILE",
    help="Values for the candidate's tunables, or a JSON file of them. Repeatable.",
)
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
    problem: str,
    candidate: str,
    config: tuple[str, ...],
    cases: tuple[str, ...],
    framework: bool,
    full: bool,
    loading: Loading,
    as_json: bool,
) -> None:
    """Show how far a candidate is from the bound, its bottleneck, and what could help.

    Uses Nsight Compute where it may read the GPU's counters, else torch's profiler, else what the compiler says; the
    last needs no GPU. Exit status 1: the candidate is wrong or does not run.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    found = job.profile(
        problem,
        options.candidate(candidate, config),
        job.ProfileSettings(cases, framework, full, loading),
        desk=desk,
        show=lambda one: say(profiled_text(one, full) + "\n", as_json),
        name=candidate,
    )
    if as_json:
        say_document(document(found.problem, found.environment, found.profiles, found.failure))
    ctx.exit(0 if found.failure is None else 1)
