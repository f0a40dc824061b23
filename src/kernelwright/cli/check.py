"""`check`: says which trivial answers a problem would accept, and the bound of each case. No candidate takes part.

The other verbs do the same check before they start, on fewer cases.
"""

from __future__ import annotations

import click

from kernelwright.cli import complete
from kernelwright.cli.context import Parts, cases_option, library_option, pass_parts, target_option
from kernelwright.cli.output import say, say_document
from kernelwright.codec import plain
from kernelwright.errors import MachineError
from kernelwright.jobs import check as job
from kernelwright.model import LibraryMode, WhichCases
from kernelwright.report.bounds import bounds_document, bounds_text
from kernelwright.report.derived import derived_document, derived_text
from kernelwright.report.evaluation import IEEE, TF32, environment_settings, settings_text
from kernelwright.report.qualification import qualification_text
from kernelwright.report.stated import stated_text

LAYOUTS = {
    "dense": 'layouts: a candidate may serve dense inputs only (LAYOUTS = "any" demands all strides)',
    "any": "layouts: a candidate has to serve inputs of any strides",
}

LIBRARY = {
    "none": 'library steps: none (LIBRARY = "finish" or "any" allows some)',
    "finish": "library steps: reductions of what a candidate's kernels wrote, over 1/16 of the bytes of a case at most "
    '(LIBRARY = "finish")',
    "any": "library steps: reductions, products, convolutions, attention, sorting and cumulative operations "
    '(LIBRARY = "any")',
}


@click.command()
@click.argument("problem", shell_complete=complete.problems)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of the stated one.")
@cases_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def check(
    ctx: click.Context,
    parts: Parts,
    problem: str,
    dtype: str | None,
    library: LibraryMode | None,
    which: WhichCases,
    target: str | None,
    as_json: bool,
) -> None:
    """Show which trivial answers a problem would accept, and at which tolerance.

    PROBLEM is a file, a folder with problem.py, or a name in the gallery. Zeros, a constant, an unchanged input, the
    output for other inputs, part of the output, the output rounded to fewer bits, and the answers of kernels that
    ignore an input, a parameter or a buffer must all be rejected on every case. Then the bound of each case follows,
    with what it assumes; on a GPU eager PyTorch is timed beside it. Exit status 1: a trivial answer would pass; 2: this
    machine could compute no case.

    PROBLEM's file is executed with your rights.
    """
    found = job.check(
        problem, start_worker=parts.start_worker, target=target, dtype=dtype, library=library, which=which
    )
    report, cases = found.qualification, found.problem.cases
    if text := derived_text(found.problem):
        say(text, as_json)
    say(qualification_text(report) + "\n", as_json)
    say(bounds_text(cases, found.eager) + "\n", as_json)
    say(LAYOUTS[found.problem.layouts] + "\n", as_json)
    say((TF32 if found.problem.precision == "tf32" else IEEE) + "\n", as_json)
    say(LIBRARY[found.problem.library] + "\n", as_json)
    if found.problem.stated is not None:
        say(stated_text(found.problem.stated) + "\n", as_json)
    say(settings_text("environment", environment_settings(found.environment)), as_json)
    if as_json:
        bounds = bounds_document(cases, found.eager)
        info = found.problem
        stated = {"layouts": info.layouts, "precision": info.precision, "library": info.library, "stated": info.stated}
        derived = derived_document(info)
        say_document({
            **plain(report), "bounds": bounds, **stated, "derived": derived, "environment": found.environment,
        })  # fmt: skip
    if report.qualifies is None:
        reasons = "; ".join(sorted(set(report.not_judged.values())))
        raise MachineError(f"no case of {problem} could be judged here: {reasons}", "use a machine with a GPU")
    ctx.exit(0 if report.qualifies else 1)
