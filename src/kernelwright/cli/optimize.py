"""`optimize`: the main job. It searches for a faster kernel, verifies and times it, and records how it was found.
Several problems share one budget.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click

from kernelwright.cli import complete, options
from kernelwright.cli.context import (
    cases_option,
    dtype_option,
    json_option,
    lane_options,
    library_option,
    model_options,
    together,
    worker_command,
)
from kernelwright.cli.display import show
from kernelwright.cli.main import INTERRUPTED
from kernelwright.cli.output import note, say, say_document
from kernelwright.errors import NothingToWin
from kernelwright.jobs import dry_run as dry_run_job
from kernelwright.jobs import optimize as job
from kernelwright.jobs.exportable import why_no_package
from kernelwright.jobs.series import optimize_series, resume_series
from kernelwright.jobs.series_search import SeriesResult
from kernelwright.jobs.series_state import is_series
from kernelwright.jobs.session import SessionResult
from kernelwright.jobs.settings import DEFAULTS, LIMITS, NAME, read_options, read_settings
from kernelwright.jobs.worker import Desk
from kernelwright.model import BUDGET_LIMITS, SWITCHES, RunOptions
from kernelwright.problems import problems_named
from kernelwright.report.document import session_document
from kernelwright.report.dry_run import dry_run_text
from kernelwright.report.ending import ending_text, several_ending_text
from kernelwright.run import StopReason

AGREED = ("base_url", "lessons", "proposer_option")
"""Options allowed with --resume, which consent to settings of the run: see `jobs/consent.py`."""

EXTENDABLE = ("problem", "resume", *LIMITS, "as_json", "target", "gpus", "workers", *AGREED)
"""Options allowed with --resume; all others were fixed when the run started."""


limit_options = together(
    *(
        click.option(
            limit.flag,
            type=options.LIMIT if limit.digits else click.IntRange(min=1),
            help=limit.help.format(trials=DEFAULTS.trials),
        )
        for limit in BUDGET_LIMITS
    )
)
"""One option for each limit of a budget."""


@click.command()
@click.argument("problem", nargs=-1, shell_complete=complete.problems)
@click.option("--starter", metavar="FILE", help="The kernel to start from (default: starter.py beside the problem).")
@click.option(
    "--strategy",
    default=DEFAULTS.strategy,
    show_default=True,
    help="Which search decides what to try next: beam, evolve, greedy or random.",
)
@click.option("--option", multiple=True, metavar="KEY=VALUE", help="An option of the strategy. Repeatable.")
@click.option(
    "--proposer",
    default=DEFAULTS.proposer,
    show_default=True,
    help="Who writes candidates: builtin (varies tunables, no model; inductor where there is no starter), inductor "
    "(begins with what torch.compile generates), openai, anthropic, mailbox, replay or script.",
)
@model_options
@click.option("--proposer-option", multiple=True, metavar="KEY=VALUE", help="An option of the proposer. Repeatable.")
@limit_options
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True, help="The seed of every random choice.")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=DEFAULTS.in_flight,
    show_default=True,
    help="Most candidates that are evaluated at once.",
)
@click.option(
    "--thinking",
    type=click.IntRange(min=1),
    help="Most proposals that are requested at once (default: as many as --in-flight); prompts that wait in the "
    "mailbox do not count.",
)
@dtype_option
@click.option(
    "--control",
    type=click.Choice(["random"]),
    help="After the search, try random configs of the starter for the same GPU time, and report them for comparison.",
)
@click.option(
    "--lessons",
    metavar="DIR",
    help="Show the lesson cards of this folder to the proposer, and add what the run learns.",
)
@click.option(
    "--known",
    metavar="FOLDER",
    help="Start also from the kernels in this folder (runs, or folders of problems) that compute the same operators.",
)
@together(*(click.option(switch.flag, is_flag=True, help=switch.help) for switch in SWITCHES))
@cases_option("cases")
@library_option
@lane_options
@click.option(
    "--settings",
    metavar="FILE",
    help="Take options from this TOML file (default: ./kernelwright.toml where there is one); the command line wins.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print the first request in full, and the limits; send nothing and start no run."
)
@click.option(
    "--max-autotune", is_flag=True, help="Measure also torch.compile's max-autotune mode beside the best kernel (slow)."
)
@click.option("--out", metavar="DIR", help="The run's folder (default: a new one under ./runs).")
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=complete.runs,
    help="Go on with the run in this folder; limits given here replace its own.",
)
@json_option
@worker_command
def optimize(
    ctx: click.Context, desk: Desk, /, problem: tuple[str, ...], resume: str | None, dry_run: bool, **given: Any
) -> None:
    """Search for a faster kernel and prove it right.

    PROBLEM is a file, a folder with problem.py, or a name in the gallery. Several of them, or a folder of problems,
    share one budget: the next round goes to the problem with the largest gain to expect, and table.txt and table.html
    in the folder of the runs show all of them after each round. The run's folder gets best_kernel.py, report.html,
    report.txt, plots/, trace/ and the journal that --resume goes on from.

    Without a starter and a model the first kernel is what torch.compile generates; where that is a library call alone,
    which is timed at 85 % of the bound or more, the answer is to leave it, with status 0 and no run. No improvement is
    an answer too, with status 0. Exit status 1: no kernel passed, not even the starter; 130: interrupted; 143 or 129:
    ended by SIGTERM or SIGHUP.

    PROBLEM's file is executed with your rights, and so is the copy in RUN/problem where a run is resumed: read it first
    if the run is from elsewhere. Candidates are confined. Where a run or a settings file names a URL, a variable
    with a key, or a place of workers, it is used only if you type it too, confirm it, or have confirmed it before.
    """
    if problem and resume is not None:
        raise click.UsageError("give either PROBLEM or --resume RUN.")
    typed = typed_options(ctx)
    desk = replace(desk, display=show, ask=ask)
    as_json = given["as_json"]
    if resume is not None:
        refuse_what_is_decided(ctx)
        again = read_options(typed)
        if is_series(Path(resume)):
            end_series(ctx, resume_series(resume, again.limits, agreed=again, desk=desk), as_json)
        end(ctx, job.resume(resume, again.limits, agreed=again, desk=desk), as_json)
    file = read_settings(given["settings"], note)
    if not problem and file.options.problem is None:
        raise click.UsageError(f"give PROBLEM (or problem = … in {NAME}) or --resume RUN.")
    named = problems_named(problem)
    if len(named) > 1:
        if dry_run:
            raise click.UsageError(f"--dry-run shows one problem, and {len(named)} are named.")
        found = optimize_series(named, max_autotune=given["max_autotune"], settings=file, desk=desk, **typed)
        end_series(ctx, found, as_json)
    if problem:
        typed["problem"] = named[0]
    try:
        if dry_run:
            sent = dry_run_job.dry_run(settings=file, desk=desk, **typed)
            say(dry_run_text(sent), as_json)
            say_document(sent, as_json)
            return
        end(ctx, job.optimize(settings=file, max_autotune=given["max_autotune"], desk=desk, **typed), as_json)
    except NothingToWin as answer:
        say(str(answer), as_json)
        say_document({"reason": "left", "detail": str(answer)}, as_json)


def end(ctx: click.Context, result: SessionResult, as_json: bool) -> NoReturn:
    """Print the closing message of one run, and give its exit status."""
    no_package = why_no_package(result.view) if result.best is not None else ""
    say(ending_text(result.view, result.outcome, result.budget, no_package), as_json)
    say_document(session_document(result.view, result.outcome), as_json)
    if result.outcome.reason is StopReason.INTERRUPTED:
        ctx.exit(INTERRUPTED)
    ctx.exit(1 if result.best is None and result.outcome.reason is not StopReason.WAITING else 0)


def end_series(ctx: click.Context, result: SeriesResult, as_json: bool) -> NoReturn:
    """The table of several problems, and the exit status: 1 where one was not judged, or no kernel of it passed."""
    say(several_ending_text(result.folder, result.lines, result.has_device, result.reason, result.detail), as_json)
    say_document(result.document(), as_json)
    if result.reason is StopReason.INTERRUPTED:
        ctx.exit(INTERRUPTED)
    ctx.exit(1 if result.failed else 0)


def typed_options(ctx: click.Context) -> dict[str, Any]:
    """The options of a run that were typed, by the names of `RunOptions`, without the problem: there may be several."""
    names = set(RunOptions.__struct_fields__) - {"problem"}
    found = {name: value for name, value in ctx.params.items() if name in names and options.is_typed(ctx, name)}
    for name in {"option", "proposer_option"} & found.keys():
        found[name] = options.pairs(found[name], f"--{name.replace('_', '-')}")
    return found


def ask(question: str) -> bool:
    """Ask at a terminal; without one the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(question, default=False, err=True)


def refuse_what_is_decided(ctx: click.Context) -> None:
    """Raise a usage error for an option that is fixed once a run has begun."""
    for name in ctx.params:
        if name not in EXTENDABLE and options.is_typed(ctx, name):
            flag = options.flag_of(ctx, name)
            raise click.UsageError(f"{flag} was decided when the run began; --resume takes limits only.")
