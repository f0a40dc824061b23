"""`bench`: the framework's own, the starter and any candidates, timed side by side on every case.

Not a search, and no substitute for `verify` on hidden cases. The rule: names in the report are the contract
(`eager`, `compile`, `compile_max_autotune`, `starter`, `best`, else a candidate's file name without its suffix). A
run's `best_kernel.py` is `best` where the problem has none of its own.
"""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from kernelwright.cli import options
from kernelwright.cli.bench_series import Start, bench_series, check_writable, write_document
from kernelwright.cli.gate import pass_gate, unqualified_option
from kernelwright.cli.output import note, say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import RequestError
from kernelwright.evaluator.client import Worker
from kernelwright.model import BenchReport, BenchSeries, Candidate, ProblemInfo, Status

if TYPE_CHECKING:
    from kernelwright.problems import ProblemPath

FRAMEWORK = ("eager", "compile", "compile_max_autotune")
NO_ANSWER = (Status.PASSED, Status.NOT_VERIFIED)
"""Every other status of a candidate's row makes the answer a no."""


@click.command()
@click.argument("problem")
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
    help="Measure N times, each in processes of its own, and show the spread between them.",
)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@unqualified_option
@target_option
@pass_parts
@click.pass_context
def bench(
    ctx: click.Context,
    parts: Parts,
    problem: str,
    candidates: tuple[str, ...],
    cases: tuple[str, ...],
    json_file: str | None,
    max_autotune: bool,
    no_compile: bool,
    no_held_out: bool,
    repeat: int,
    dtype: str | None,
    unqualified: bool,
    target: str | None,
) -> None:
    """Time the framework's own, the starter and candidates side by side.

    PROBLEM is a file, a folder with problem.py, or a name in ./gallery. A folder's starter.py and best.py take part as
    `starter` and `best`; CANDIDATE under its file's name (a run's best_kernel.py as `best`, where that is free).
    A folder of such folders is benched problem by problem, into one table and one document.
    Without a GPU nothing is timed: the bound is shown, and estimates that are called estimates.
    Exit status 1: a candidate was wrong, rejected, or failed.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    from kernelwright.problems import find_problem, problems_in
    from kernelwright.report.bench import bench_text
    from kernelwright.report.series import series_text

    if max_autotune and no_compile:
        raise click.UsageError("--max-autotune and --no-compile exclude each other.")
    if cases and no_held_out:
        raise click.UsageError("--case says which cases are measured: leave --no-held-out out.")
    if json_file not in (None, "-"):
        check_writable(Path(json_file))
    measure = Measure(
        parts, ctx, cases, max_autotune, not no_compile, not no_held_out, repeat, dtype, unqualified, target
    )
    several = problems_in(problem)
    if several and (candidates or cases):
        raise RequestError(
            f"{problem} is a folder of {len(several)} problems, which have no candidates and cases in common",
            "name one problem, or leave candidates and --case out",
        )
    to_stdout = json_file == "-"
    document: BenchReport | BenchSeries
    if several:
        series = bench_series(measure, several, command_line(problem, (), ctx), json_file)
        document, text = series, series_text(series)
    else:
        report = measure.report(find_problem(problem), problem, candidates)
        document, text = report, bench_text(report)
    say(text, to_stdout)
    if to_stdout:
        say_document(document)
    elif json_file is not None:
        write_document(document, json_file)
        note(f"written to {json_file}")
    ctx.exit(1 if failed_candidates(document) else 0)


@dataclass(frozen=True)
class Measure:
    """How every problem of a call is measured."""

    parts: Parts
    ctx: click.Context
    cases: tuple[str, ...]
    max_autotune: bool
    compile: bool
    held_out: bool
    repeat: int
    dtype: str | None
    unqualified: bool
    target: str | None

    def started(self) -> AbstractContextManager[Worker]:
        return self.parts.start_worker(self.target)

    def report(
        self,
        found: ProblemPath,
        typed: str,
        candidates: tuple[str, ...],
        first: Start | None = None,
    ) -> BenchReport:
        """One problem, in as many worker processes as were asked for. typed: how the user named it. first: gives the
        first of them, which was started before."""
        from kernelwright.problems import read_problem_text
        from kernelwright.report.repeat import repeated

        read_problem_text(found.file)
        named = named_candidates(found, candidates)
        reports = []
        for number in range(self.repeat):
            start = self.started if first is None or number else first
            with start() as worker:
                info = worker.load(str(found.file), self.dtype)
                check_cases(info, self.cases)
                pass_gate(worker, typed, self.unqualified)
                reports.append(worker.bench(named, self.chosen(info), self.max_autotune, self.compile))
        return msgspec.structs.replace(repeated(reports), command=command_line(typed, candidates, self.ctx))

    def chosen(self, info: ProblemInfo) -> tuple[str, ...]:
        """The cases to measure, () for all but the small ones."""
        return self.cases if self.held_out else tuple(one.case.name for one in info.cases if one.case.timed)


def named_candidates(problem: ProblemPath, files: tuple[str, ...]) -> dict[str, Candidate]:
    """Candidates by the names that the report gives them, the problem's own first."""
    own = {"starter": problem.starter, "best": problem.best}
    places = {name: place for name, place in own.items() if place is not None}
    for file in files:
        stem = Path(file).stem
        name = "best" if stem == "best_kernel" and problem.best is None else stem
        if name in FRAMEWORK:
            raise RequestError(
                f"candidate {file} would be called {name!r}, which is the framework's own row", "rename it"
            )
        known = places.setdefault(name, Path(file))
        if known.resolve() != Path(file).resolve():
            raise RequestError(f"candidates {known} and {file} would both be called {name!r}", "rename one of them")
    return {name: options.candidate(str(place)) for name, place in places.items()}


def check_cases(info: ProblemInfo, cases: tuple[str, ...]) -> None:
    """Raise `RequestError` for a case that the problem does not have."""
    known = [case.case.name for case in info.cases]
    for name in cases:
        if name not in known:
            raise RequestError(f"{info.name} has no case {name!r}", f"its cases: {', '.join(known)}")


def command_line(problem: str, candidates: tuple[str, ...], ctx: click.Context) -> str:
    """How to repeat the measurement."""
    words = ["kernelwright", "bench", problem, *candidates]
    for name in ctx.params["cases"]:
        words += ["--case", name]
    for option in ("dtype", "target"):
        if ctx.params[option]:
            words += [f"--{option}", ctx.params[option]]
    if ctx.params["repeat"] > 1:
        words += ["--repeat", str(ctx.params["repeat"])]
    for flag in ("max_autotune", "no_compile", "no_held_out", "unqualified"):
        if ctx.params[flag]:
            words.append("--" + flag.replace("_", "-"))
    return shlex.join(words)


def failed_candidates(document: BenchReport | BenchSeries) -> set[str]:
    """Names of what the user brought that failed on some case, and of problems that could not be benched."""
    if isinstance(document, BenchSeries):
        return {name for report in document.reports for name in failed_candidates(report)} | set(document.failures)
    return {
        row.name
        for case in document.cases
        for row in case.implementations
        if row.name not in FRAMEWORK and row.status not in NO_ANSWER
    }
