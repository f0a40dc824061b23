"""`check`: can a problem tell a kernel from an answer that takes no computing, and what is the bound of its cases?

No candidate takes part. The rule: it is the same question that the other verbs ask before they start, on more cases.
"""

from __future__ import annotations

import click

from kernelwright.cli.output import say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.codec import plain
from kernelwright.errors import MachineError


@click.command()
@click.argument("problem")
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def check(ctx: click.Context, parts: Parts, problem: str, dtype: str | None, target: str | None, as_json: bool) -> None:
    """Say which trivial answers a problem would accept, and at which tolerance.

    PROBLEM is a file, a folder with problem.py, or a name in ./gallery. Zeros, a constant, an input as it is, the
    output for other inputs, part of the output, the output rounded to fewer bits, and the answers of kernels that
    ignore an input, a parameter or a buffer must all be rejected on every case. Then the bound of each case follows,
    with what it assumes; on a GPU eager PyTorch is timed beside it. Exit status 1: a trivial answer would pass; 2: this
    machine could compute no case.

    PROBLEM's file is executed with your rights.
    """
    from kernelwright.problems import find_problem, read_problem_text
    from kernelwright.report.bounds import bounds_document, bounds_text, eager_rows
    from kernelwright.report.evaluation import environment_settings, settings_text
    from kernelwright.report.qualification import qualification_text

    found = find_problem(problem)
    read_problem_text(found.file)
    with parts.start_worker(target) as worker:
        info = worker.load(str(found.file), dtype)
        environment = worker.environment()
        report = worker.qualify(every=True)
        eager = eager_rows(worker.bench({}, compile=False)) if environment.device is not None else {}
    say(qualification_text(report) + "\n", as_json)
    say(bounds_text(info.cases, eager) + "\n", as_json)
    say(settings_text("environment", environment_settings(environment)), as_json)
    if as_json:
        say_document({**plain(report), "bounds": bounds_document(info.cases, eager), "environment": environment})
    if report.qualifies is None:
        reasons = "; ".join(sorted(set(report.not_judged.values())))
        raise MachineError(f"no case of {problem} could be judged here: {reasons}", "use a machine with a GPU")
    ctx.exit(0 if report.qualifies else 1)
