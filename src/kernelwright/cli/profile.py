"""`profile`: the bound, the gap, and the one thing that holds a candidate back, with the evidence.

It verifies before it times, and finds nothing faster. The rule: where a counter comes from is said, and where nothing
ran on a GPU that is said, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from kernelwright.cli import options
from kernelwright.cli.output import note, say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import MachineError
from kernelwright.evaluator.client import Worker
from kernelwright.jobs.loading import require_cases
from kernelwright.model import BenchCase, Candidate, CaseInfo, Implementation, ProblemInfo, Status, Timing

OWN = "candidate"
"""What the candidate is called among the framework's own."""


@click.command()
@click.argument("problem")
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
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def profile(
    ctx: click.Context,
    parts: Parts,
    problem: str,
    candidate: str,
    config: tuple[str, ...],
    cases: tuple[str, ...],
    framework: bool,
    full: bool,
    dtype: str | None,
    target: str | None,
    as_json: bool,
) -> None:
    """Say how far a candidate is from the bound, what holds it back, and what could be done.

    Uses Nsight Compute where it may read the GPU's counters, else torch's profiler, else what the compiler says; the
    last needs no GPU. Exit status 1: the candidate is wrong or does not run.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    from kernelwright.problems import find_problem, read_problem_text
    from kernelwright.report.profiled import document, profiled, profiled_text

    found = find_problem(problem)
    read_problem_text(found.file)
    own = options.candidate(candidate, config)
    rows = []
    with parts.start_worker(target) as worker:
        info = worker.load(str(found.file), dtype)
        require_cases(info, cases)
        environment = worker.environment()
        if framework and environment.device is None:
            raise MachineError("--framework needs a GPU, and there is none here", "profile the candidate alone")
        for case, timed in timings(worker, info, own, cases, framework):
            for name, timing in timed.items():
                if isinstance(timing, Implementation):
                    note(f"{candidate if name == OWN else name} failed on {case.case.name}: {timing.reason}")
                    if name == OWN:
                        ctx.exit(1)
                    continue
                seen = worker.profile(own if name == OWN else name, case.case.name, full)
                rows.append(profiled(candidate if name == OWN else name, case, timing, seen, environment))
                say(profiled_text(rows[-1], full) + "\n", as_json)
    if as_json:
        say_document(document(info.name, environment, rows))


def timings(
    worker: Worker, info: ProblemInfo, own: Candidate, cases: tuple[str, ...], framework: bool
) -> Iterator[tuple[CaseInfo, dict[str, Timing | Implementation]]]:
    """For each case, how long each implementation takes, or the row that says why it has no time."""
    chosen = cases or tuple(one.case.name for one in info.cases if one.case.timed)
    by_name = {one.case.name: one for one in info.cases}
    report = worker.bench({OWN: own}, chosen, against=None if framework else OWN)
    for bench_case in report.cases:
        yield by_name[bench_case.case], timed_rows(bench_case)


def timed_rows(case: BenchCase) -> dict[str, Timing | Implementation]:
    """The candidate first."""
    rows = sorted(case.implementations, key=lambda row: row.name != OWN)
    return {row.name: timing_of(row) or row for row in rows}


def timing_of(row: Implementation) -> Timing | None:
    if row.median_us is None or row.status not in (Status.PASSED, Status.NOT_VERIFIED):
        return None
    return Timing(
        kind=row.kind, median_us=row.median_us, ci95_us=row.ci95_us, call_us=row.call_us, issue_us=row.issue_us,
        method=row.method, clocks=row.clocks,
    )  # fmt: skip
