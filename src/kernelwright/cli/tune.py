"""`tune`: the best config of one candidate. No model writes code; only tunables change."""

from __future__ import annotations

from typing import Any

import click
from msgspec.structs import replace

from kernelwright.cli import complete, options
from kernelwright.cli.context import (
    dtype_option,
    json_option,
    judging_options,
    lane_options,
    model_options,
    worker_command,
)
from kernelwright.cli.output import say, say_document
from kernelwright.jobs import tune as job
from kernelwright.jobs.advice import choose_advisor
from kernelwright.jobs.tune import DEFAULT_TRIALS, DEFAULTS
from kernelwright.jobs.worker import Desk
from kernelwright.report.tuning import tuning_document, tuning_text
from kernelwright.tune import Settings


@click.command()
@click.argument("problem", required=False, shell_complete=complete.problems)
@click.argument("candidate", required=False)
@click.option(
    "--sampler",
    default=DEFAULTS.sampler,
    show_default=True,
    help="How the next config is chosen: model (a surrogate), random, local, exhaustive, or optuna (if installed).",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    help=f"Stop after this many configs (default where no limit is given: {DEFAULT_TRIALS}; exhaustive: all).",
)
@click.option("--minutes", type=options.LIMIT, help="Start no further config after this many minutes.")
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True, help="The seed of every random choice.")
@click.option("--space", metavar="FILE", help="The space, as TOML or a Python dict (default: found in the source).")
@click.option(
    "--case", "cases", multiple=True, metavar="NAME", help="Tune for this case only. Repeatable; default: all timed."
)
@dtype_option
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=DEFAULTS.in_flight,
    show_default=True,
    help="Configs that are tried at once; the sampler gets their results together.",
)
@click.option("--no-early-stop", is_flag=True, help="Go on to the limit even if the sampler expects no further gain.")
@click.option(
    "--import",
    "imported",
    metavar="FILE",
    help="Try the configs of this history.csv or T4 file first; their times are not used.",
)
@click.option(
    "--advisor",
    metavar="NAME",
    help="Ask once for configs to try first: openai, anthropic, mailbox (you answer, by a file) or script.",
)
@model_options
@click.option(
    "--advisor-option",
    "advisor_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the advisor. Repeatable.",
)
@click.option(
    "--recorded",
    metavar="FILE",
    help="Replay this recorded space (or one that ships, by its name) instead of measuring; needs no GPU.",
)
@judging_options
@lane_options
@click.option("--out", metavar="DIR", help="Where the results go (default: a new folder under ./tuned).")
@json_option
@worker_command
def tune(ctx: click.Context, desk: Desk, /, problem: str | None, candidate: str | None, **given: Any) -> None:
    """Search the configs of a candidate: block sizes, warps, stages.

    PROBLEM is a file, a folder with problem.py, or a name in the gallery; CANDIDATE a Python file, by default the
    problem's starter.py. Neither is needed with --recorded. The folder gets best_config.json, configs.py (for
    triton.autotune), history.csv, t4.json and report.txt. Exit status 1: no config passed.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    if given["recorded"] is None and problem is None:
        raise click.UsageError("give PROBLEM, or --recorded FILE.")
    lanes = 1
    if given["recorded"] is None:
        desk, lanes = desk.on_lanes(given["gpus"], given["workers"])
    settings = Settings(
        sampler=given["sampler"],
        seed=given["seed"],
        trials=given["trials"],
        minutes=given["minutes"],
        in_flight=given["in_flight"] * (1 if options.is_typed(ctx, "in_flight") else lanes),
        early_stop=not given["no_early_stop"],
    )
    advisor_options = options.pairs(given["advisor_options"], "--advisor-option")
    advisor = choose_advisor(given["advisor"], advisor_options, given["model"], given["base_url"])
    begin = job.Begin(given["imported"], advisor)
    if given["recorded"] is not None:
        for name in ("cases", "space", "dtype", "library", "target", "which", "unqualified", "gpus", "workers"):
            if options.is_typed(ctx, name):
                flag = options.flag_of(ctx, name)
                raise click.UsageError(f"{flag} has no meaning with --recorded: the record decides it.")
        result = job.replay(
            given["recorded"], settings, begin, problem=problem, candidate=candidate, out=given["out"],
            notify=desk.notify,
        )  # fmt: skip
    else:
        assert problem is not None
        loading = replace(given["loading"], cases=given["cases"])
        result = job.tune(
            problem, candidate, settings, begin, loading=loading, space=given["space"], out=given["out"], desk=desk
        )
    outcome = result.outcome
    if outcome is not None:
        say(tuning_text(outcome), given["as_json"])
    say_document({"waits_in": str(result.folder)} if outcome is None else tuning_document(outcome), given["as_json"])
    ctx.exit(0 if outcome is None or outcome.joint is not None else 1)
