"""`bench`: times PyTorch (eager, compiled), the starter and any candidates side by side on every case.

With `--against` it says whether a candidate is slower than a recorded one, as text, JSON and JUnit XML for CI.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kernelwright.cli import complete, options
from kernelwright.cli.context import dtype_option, judging_options, worker_command
from kernelwright.cli.output import hand_out, say, write_text
from kernelwright.codec import document_text
from kernelwright.errors import MachineError, RequestError
from kernelwright.folders import require_writable
from kernelwright.jobs import bench as job
from kernelwright.jobs.bench import BenchSettings
from kernelwright.jobs.bench_series import bench_series
from kernelwright.jobs.gate import NO_GPU, gate
from kernelwright.jobs.worker import Desk
from kernelwright.model import BenchReport, BenchSeries, Loading
from kernelwright.problems import problems_in
from kernelwright.report.bench import bench_text
from kernelwright.report.gate import gate_text, junit_text
from kernelwright.report.series import series_text


def fraction_of(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A percentage such as "2%", as a fraction. The sign is required, or 2 could be taken for a factor."""
    try:
        percent = float(value.removesuffix("%")) if value.endswith("%") else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 1000:
        raise click.BadParameter(f"{value!r} is no percentage such as 2%.")
    return percent / 100


@click.command()
@click.argument("problem", shell_complete=complete.problems)
@click.argument("candidates", nargs=-1, metavar="[CANDIDATE]...")
@click.option(
    "--case", "cases", multiple=True, metavar="NAME", help="Only this case. Repeatable; default: all but small."
)
@click.option(
    "--json",
    "json_file",
    is_flag=False,
    flag_value="-",
    metavar="[FILE]",
    help="The report as JSON, to FILE, or to standard output without one.",
)
@click.option("--max-autotune", is_flag=True, help="Add torch.compile in its max-autotune mode (slow).")
@click.option("--no-compile", is_flag=True, help="Leave torch.compile out.")
@click.option("--no-held-out", is_flag=True, help="Leave the held-out cases out.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Measure N times, each in new processes, and show the spread between them.",
)
@click.option(
    "--against",
    metavar="FILE",
    help="Measure CANDIDATE beside the one that this earlier --json FILE holds, in place of PyTorch.",
)
@click.option(
    "--max-slowdown",
    callback=fraction_of,
    default="2%",
    show_default=True,
    metavar="PERCENT",
    help="With --against: status 1 where the whole interval of the slowdown is above this.",
)
@click.option("--junit", metavar="FILE", help="With --against: the outcome of each case as JUnit XML.")
@dtype_option
@judging_options
@worker_command
def bench(
    ctx: click.Context,
    desk: Desk,
    /,
    problem: str,
    candidates: tuple[str, ...],
    json_file: str | None,
    against: str | None,
    loading: Loading,
    **given: Any,
) -> None:
    """Time PyTorch (eager, compiled), the starter and candidates side by side.

    PROBLEM is a file, a folder with problem.py, or a name in the gallery. A folder's starter.py and best.py take part
    as `starter` and `best`; CANDIDATE under its file's name (a run's best_kernel.py as `best`, where that is free).
    A folder of such folders is benched problem by problem, into one table and one document.
    Without a GPU nothing is timed: the bound is shown, and estimates, marked as estimates.
    Exit status 1: a candidate was wrong, rejected, or failed.

    With --against one CANDIDATE is compared with the row of the same name in an earlier report (or its only candidate),
    whose text is measured again on this GPU. Status 1: not right, or slower than allowed; 2: something was not
    measured, as on a machine without a GPU.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    settings = BenchSettings(
        held_out=not given.pop("no_held_out"), compile=not given.pop("no_compile"), loading=loading,
        **{name: given.pop(name) for name in ("cases", "max_autotune", "repeat")},
    )  # fmt: skip
    if settings.max_autotune and not settings.compile:
        raise click.UsageError("--max-autotune and --no-compile exclude each other.")
    if settings.cases and not settings.held_out:
        raise click.UsageError("--case says which cases are measured: leave --no-held-out out.")
    for file in (json_file, given["junit"]):
        if file not in (None, "-"):
            require_writable(Path(file))
    if against is not None:
        if len(candidates) != 1:
            raise click.UsageError("--against compares exactly one CANDIDATE.")
        refuse_typed(ctx, ("max_autotune", "no_compile"), "does not go with --against: the framework is left out.")
        ctx.exit(run_gate(problem, candidates[0], against, settings, json_file=json_file, desk=desk, **given))
    refuse_typed(ctx, ("max_slowdown", "junit"), "needs --against FILE.")
    several = problems_in(problem)
    if several and (candidates or settings.cases):
        raise RequestError(
            f"{problem} is a folder of {len(several)} problems, which have no candidates and cases in common",
            "name one problem, or leave candidates and --case out",
        )
    document = measure(problem, candidates, settings, bool(several), json_file, desk)
    ctx.exit(1 if job.failed_candidates(document) else 0)


def measure(
    problem: str,
    candidates: tuple[str, ...],
    settings: BenchSettings,
    is_folder: bool,
    json_file: str | None,
    desk: Desk,
) -> BenchReport | BenchSeries:
    """Bench, print the tables and write the document. json_file: "-" for standard output."""

    def keep(document: BenchReport | BenchSeries) -> None:
        if json_file not in (None, "-"):
            Path(json_file).write_text(document_text(document) + "\n", encoding="utf-8")

    document: BenchReport | BenchSeries
    if is_folder:
        series = bench_series(problem, settings, desk=desk, keep=keep)
        document, text = series, series_text(series)
    else:
        report = job.bench(problem, candidates, settings, desk=desk)
        document, text = report, bench_text(report)
    say(text, json_file == "-")
    hand_out(document, json_file)
    return document


def refuse_typed(ctx: click.Context, names: tuple[str, ...], why: str) -> None:
    """Raise a usage error for an option that was typed."""
    for name in names:
        if options.is_typed(ctx, name):
            raise click.UsageError(f"{options.flag_of(ctx, name)} {why}")


def run_gate(
    problem: str,
    candidate: str,
    against: str,
    settings: BenchSettings,
    *,
    max_slowdown: float,
    junit: str | None,
    json_file: str | None,
    desk: Desk,
) -> int:
    """The exit status: 0 not slower, 1 slower or not right. Raises `MachineError` where something was not measured and
    nothing is slower; the files are written all the same."""
    report = gate(problem, candidate, against, max_slowdown, settings, desk=desk)
    if junit is not None:
        write_text(junit_text(report), junit)
    hand_out(report, json_file)
    if report.environment.device is None:
        raise MachineError(f"nothing was measured: {NO_GPU}", "status 2: neither slower nor as fast is known")
    say(gate_text(report), json_file == "-")
    if report.refuses:
        return 1
    if report.unmeasured:
        names = ", ".join(case.case for case in report.unmeasured)
        raise MachineError(f"not measured: {names}", "status 2: the reasons are above")
    return 0
