"""`verify`: does a candidate compute what the problem asks for, without cheating?

Not a timing (`bench`). The rule: what could not be judged here is status 2, never 0.
"""

from __future__ import annotations

import click

from kernelwright.cli import options
from kernelwright.cli.gate import pass_gate, unqualified_option
from kernelwright.cli.output import say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.codec import plain
from kernelwright.errors import MachineError
from kernelwright.model import Status


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
    from kernelwright.problems import find_problem, read_problem_text
    from kernelwright.report.evaluation import environment_settings, evaluation_text, settings_text

    found = find_problem(problem)
    read_problem_text(found.file)
    judged = options.candidate(candidate, config)
    with parts.start_worker(target) as worker:
        info = worker.load(str(found.file), dtype)
        pass_gate(worker, problem, unqualified)
        environment = worker.environment()
        evaluation = worker.evaluate(judged, "verify")
    say(f"{candidate} for {info.name}\n\n{evaluation_text(evaluation, info.cases)}\n", as_json)
    say(settings_text("environment", environment_settings(environment)), as_json)
    if as_json:
        head = {"problem": info.name, "candidate": judged.id, "config": judged.config}
        say_document({**head, **plain(evaluation), "environment": environment})
    if evaluation.status is Status.NOT_VERIFIED:
        raise MachineError(
            f"{candidate} was not verified on this machine: {evaluation.reason}",
            "verify it on a machine with a GPU",
        )
    ctx.exit(0 if evaluation.status is Status.PASSED else 1)
