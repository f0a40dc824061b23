"""`verify`: judges whether a candidate computes what the problem asks for.

A candidate that could not be judged on this machine ends with status 2, never 0.
"""

from __future__ import annotations

import click

from kernelwright.cli import options
from kernelwright.cli.context import Parts, pass_parts, target_option, unqualified_option
from kernelwright.cli.output import note, say, say_document
from kernelwright.codec import plain
from kernelwright.errors import MachineError
from kernelwright.jobs import verify as job
from kernelwright.model import Status
from kernelwright.report.evaluation import environment_settings, evaluation_text, settings_text


@click.command()
@click.argument("problem")
@click.argument("candidate")
@click.option(
    "--config",
    multiple=True,
    metavar="KEY=VALUE|FILE",
    help="Values for the candidate's tunables, or a JSON file of them. Repeatable.",
)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@unqualified_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def verify(
    ctx: click.Context,
    parts: Parts,
    problem: str,
    candidate: str,
    config: tuple[str, ...],
    dtype: str | None,
    unqualified: bool,
    target: str | None,
    as_json: bool,
) -> None:
    """Judge whether a candidate computes what the problem asks for.

    PROBLEM is a file, a folder with problem.py, or a name in ./gallery. CANDIDATE is a Python file that defines
    ModelNew or kernel_function. Exit status 1: wrong, rejected, or failed; 2: this machine could not judge it.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    judged = job.verify(
        problem,
        options.candidate(candidate, config),
        start_worker=parts.start_worker,
        notify=note,
        target=target,
        dtype=dtype,
        unqualified=unqualified,
    )
    evaluation = judged.evaluation
    say(f"{candidate} for {judged.problem.name}\n\n{evaluation_text(evaluation, judged.problem.cases)}\n", as_json)
    say(settings_text("environment", environment_settings(judged.environment)), as_json)
    if as_json:
        head = {"problem": judged.problem.name, "candidate": judged.candidate.id, "config": judged.candidate.config}
        say_document({**head, **plain(evaluation), "environment": judged.environment})
    if evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(
            f"{candidate} was not verified on this machine: {evaluation.reason}",
            "verify it on a machine with a GPU",
        )
    ctx.exit(0 if evaluation.status is Status.PASSED else 1)
