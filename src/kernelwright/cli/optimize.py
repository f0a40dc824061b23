"""`optimize`: the main job. From a problem to a kernel that is verified, timed (or estimated, and then called so) and
faster, with a record of how it was found.

Its options and its last words; `jobs/optimize.py` does the work. What decides a run is given when it begins and stored
in its journal, so `--resume` takes limits only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from kernelwright.cli import options
from kernelwright.cli.context import Parts, library_option, pass_parts, target_option, unqualified_option
from kernelwright.cli.display import show
from kernelwright.cli.ending import ending_text
from kernelwright.cli.main import INTERRUPTED
from kernelwright.cli.output import note, say, say_document
from kernelwright.cli.sent import dry_run_text
from kernelwright.jobs import dry_run as dry_run_job
from kernelwright.jobs import optimize as job
from kernelwright.jobs.settings import DEFAULTS, LIMITS, NAME, RunOptions, read_options, read_settings
from kernelwright.model import BUDGET_LIMITS
from kernelwright.report.document import report_document
from kernelwright.run import StopReason

AGREED = ("base_url", "lessons", "proposer_option")
"""What may stand beside --resume to consent to what the run has: see `jobs/consent.py`."""

EXTENDABLE = ("problem", "resume", *LIMITS, "as_json", "target", *AGREED)
"""What may stand beside --resume; everything else was decided when the run began."""


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """One option for each limit of a budget."""
    for limit in reversed(BUDGET_LIMITS):
        kind = options.LIMIT if limit.digits else click.IntRange(min=1)
        command = click.option(limit.flag, type=kind, help=limit.help.format(trials=DEFAULTS.trials))(command)
    return command


@click.command()
@click.argument("problem", required=False)
@click.option("--starter", metavar="FILE", help="The kernel to start from (default: starter.py beside the problem).")
@click.option(
    "--strategy", default=DEFAULTS.strategy, show_default=True, help="What to try next: beam, evolve, greedy or random."
)
@click.option("--option", multiple=True, metavar="KEY=VALUE", help="For the strategy. Repeatable.")
@click.option(
    "--proposer",
    default=DEFAULTS.proposer,
    show_default=True,
    help="Who writes candidates: builtin (varies tunables, no model), openai, anthropic, mailbox, replay or script.",
)
@click.option("--model", metavar="NAME", help="The model to ask, for openai and anthropic.")
@click.option("--base-url", metavar="URL", help="Where the model's interface is, if not at its usual place.")
@click.option("--proposer-option", multiple=True, metavar="KEY=VALUE", help="For the proposer. Repeatable.")
@limit_options
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True, help="Decides every random choice.")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=DEFAULTS.in_flight,
    show_default=True,
    help="Most trials at once; those that wait for a reply of the mailbox are not counted.",
)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@click.option(
    "--control",
    type=click.Choice(["random"]),
    help="After the search, try random configs of the starter for as much GPU time, and report them for comparison.",
)
@click.option(
    "--lessons",
    metavar="DIR",
    help="Show the lesson cards of this folder to the proposer, and add what the run learns.",
)
@click.option(
    "--cases",
    type=click.Choice(["stated", "derived"]),
    default=DEFAULTS.cases,
    show_default=True,
    help="Whether small and odd cases are derived where the problem states none (see `check`).",
)
@click.option(
    "--no-source",
    is_flag=True,
    help="Show the proposer the problem's operators in place of its text; kernels are shown whole.",
)
@unqualified_option
@library_option
@click.option(
    "--settings",
    metavar="FILE",
    help="Take options from this TOML file (default: ./kernelwright.toml where there is one); what is typed wins.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what would be sent first, in full, and the limits; send nothing, begin no run.",
)
@click.option("--out", metavar="DIR", help="The run's folder (default: a new one under ./runs).")
@click.option("--resume", metavar="RUN", help="Go on with the run in this folder; limits given here replace its own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def optimize(
    ctx: click.Context, parts: Parts, /, problem: str | None, resume: str | None, dry_run: bool, **given: Any
) -> None:
    """Search for a faster kernel and prove it right.

    PROBLEM is a file, a folder with problem.py, or a name in ./gallery. The run's folder gets best_kernel.py,
    report.html, report.txt, plots/, trace/ and the journal that --resume goes on from. Exit status 1: no kernel
    passed, not even the starter; 130: interrupted; 143 or 129: ended by SIGTERM or SIGHUP. No improvement is an answer
    too, with status 0.

    PROBLEM's file is executed with your rights, and so is the copy in RUN/problem where a run is resumed: read it first
    if the run is from elsewhere. Candidates are confined. An address or a key's variable that a run or a settings file
    names is used only where you type it, too, confirm it, or did so before.
    """
    if problem is not None and resume is not None:
        raise click.UsageError("give either PROBLEM or --resume RUN.")
    typed = typed_options(ctx)
    started: dict[str, Any] = {"start_worker": parts.start_worker, "notify": note, "display": show, "ask": ask}
    if resume is not None:
        refuse_what_is_decided(ctx)
        again = read_options(typed)
        result = job.resume(resume, again.limits, agreed=again, target=again.target, **started)
    else:
        file = read_settings(given["settings"], note)
        if problem is None and file.options.problem is None:
            raise click.UsageError(f"give PROBLEM (or problem = … in {NAME}) or --resume RUN.")
        if dry_run:
            del started["display"]
            found = dry_run_job.dry_run(settings=file, **started, **typed)
            say(dry_run_text(found), given["as_json"])
            if given["as_json"]:
                say_document(found)
            return
        result = job.optimize(settings=file, **started, **typed)
    say(ending_text(result.view, result.outcome, result.budget), given["as_json"])
    if given["as_json"]:
        document = report_document(result.view)
        say_document({**document, "reason": result.outcome.reason, "detail": result.outcome.detail})
    if result.outcome.reason is StopReason.INTERRUPTED:
        ctx.exit(INTERRUPTED)
    ctx.exit(1 if result.best is None and result.outcome.reason is not StopReason.WAITING else 0)


def typed_options(ctx: click.Context) -> dict[str, Any]:
    """The options of a run that were typed, by the names of `RunOptions`."""
    found = {
        name: value
        for name, value in ctx.params.items()
        if name in RunOptions.__struct_fields__ and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    for name in {"option", "proposer_option"} & found.keys():
        found[name] = options.pairs(found[name], f"--{name.replace('_', '-')}")
    return found


def ask(question: str) -> bool:
    """Ask at a terminal; elsewhere nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(question, default=False, err=True)


def refuse_what_is_decided(ctx: click.Context) -> None:
    """Raise a usage error for an option that a resumed run cannot take any more."""
    for name in ctx.params:
        if name not in EXTENDABLE and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = next(param.opts[0] for param in ctx.command.params if param.name == name)
            raise click.UsageError(f"{flag} was decided when the run began; --resume takes limits only.")
