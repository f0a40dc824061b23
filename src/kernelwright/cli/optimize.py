"""`optimize`: the main job. From a problem to a kernel that is verified, timed (or estimated, and then called so) and
better, with the record of how it came about.

Here are its options only; `session` does the work. The rule: what decides a run is said when it begins and kept in
its journal, so that `--resume` takes nothing but limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kernelwright.cli import options, session
from kernelwright.cli.consent import Wish, path_wish, settle, typed_as, wishes_of
from kernelwright.cli.gate import unqualified_option
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.cli.settings_file import NAME, RunFile, read_settings
from kernelwright.errors import RequestError
from kernelwright.model import Budget, RunSettings, Scalar
from kernelwright.propose import WRITERS
from kernelwright.search import options_for_writers

DEFAULT_TRIALS = 40
"""Where no limit is given, tunings apart: enough for ten rounds of the default beam."""

IN_FLIGHT = 4
"""A round of the default beam at once: one candidate is timed while others compile."""

LIMITS = ("trials", "minutes", "tokens", "usd", "gpu_seconds")

AGREED = ("base_url", "lessons", "proposer_options")
"""What may stand beside --resume to agree to what the run has: see `consent`."""

EXTENDABLE = ("problem", "resume", *LIMITS, "as_json", "target", *AGREED)
"""What may stand beside --resume; everything else was decided when the run began."""


@click.command()
@click.argument("problem", required=False)
@click.option("--starter", metavar="FILE", help="The kernel to start from (default: starter.py beside the problem).")
@click.option("--strategy", default="beam", show_default=True, help="What to try next: beam, evolve, greedy or random.")
@click.option("--option", "strategy_options", multiple=True, metavar="KEY=VALUE", help="For the strategy. Repeatable.")
@click.option(
    "--proposer",
    default="builtin",
    show_default=True,
    help="Who writes candidates: builtin (varies tunables, no model), openai, anthropic, mailbox, replay or script.",
)
@click.option("--model", metavar="NAME", help="The model to ask, for openai and anthropic.")
@click.option("--base-url", metavar="URL", help="Where the model's interface is, if not at its usual place.")
@click.option(
    "--proposer-option", "proposer_options", multiple=True, metavar="KEY=VALUE", help="For the proposer. Repeatable."
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    help=f"Stop after so many trials (default where no limit is given: {DEFAULT_TRIALS}, and their tunings).",
)
@click.option("--minutes", type=options.LIMIT, help="Stop after so many minutes.")
@click.option("--tokens", type=click.IntRange(min=1), help="Stop before more tokens than this are used.")
@click.option("--usd", type=options.LIMIT, help="Stop before models cost more than this.")
@click.option(
    "--gpu-seconds",
    type=options.LIMIT,
    help="Stop before candidates are judged, timed and profiled for longer than this.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Decides every random choice.")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=IN_FLIGHT,
    show_default=True,
    help="Trials under way at once, those that wait for a reply apart.",
)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@click.option(
    "--control",
    type=click.Choice(["random"]),
    help="Then search the starter's configs at random, without a model, for as much GPU time, and report it beside.",
)
@click.option(
    "--lessons",
    metavar="DIR",
    help="Show the lesson cards of this folder to the proposer, and add what the run learns.",
)
@unqualified_option
@click.option(
    "--settings",
    metavar="FILE",
    help="Take options from this TOML file (default: ./kernelwright.toml where there is one); what is typed wins.",
)
@click.option("--out", metavar="DIR", help="The run's folder (default: a new one under ./runs).")
@click.option("--resume", metavar="RUN", help="Go on with the run in this folder; limits given here replace its own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def optimize(ctx: click.Context, parts: Parts, /, problem: str | None, resume: str | None, **given: Any) -> None:
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
    typed = typed_words(problem, given)
    if resume is None:
        file = read_settings(given["settings"])
        problem = file.problem if problem is None else problem
        given = with_file(given, file, lambda name: ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    if problem is None and resume is None:
        raise click.UsageError(f"give PROBLEM (or problem = … in {NAME}) or --resume RUN.")
    limits = Budget(**{name: given[name] for name in LIMITS})
    if resume is not None:
        refuse_what_is_decided(ctx)
        ctx.exit(session.go_on(parts, Path(resume), limits, typed, given["target"], given["as_json"]))
    assert problem is not None
    settings = settings_from(problem, limits, given)
    source = Path(given["settings"] or NAME)
    named = [*wishes_of(settings), *path_wishes(file, {**given, "problem": problem})]
    settle(named, typed, str(source), (source.resolve().parent, Path.cwd()))
    ctx.exit(session.begin(parts, settings, given["out"], given["target"], given["as_json"]))


def typed_words(problem: str | None, given: Mapping[str, Any]) -> set[str]:
    """What was typed of that which needs consent, in the words of `consent.Wish`."""
    found = {
        typed_as(name, value) for name, value in options.pairs(given["proposer_options"], "--proposer-option").items()
    }
    found |= {f"--base-url {given['base_url']}"} if given["base_url"] is not None else set()
    found |= {f"--{name} {given[name]}" for name in ("lessons", "out", "starter") if given[name] is not None}
    return found | ({problem} if problem is not None else set())


def path_wishes(file: RunFile, given: Mapping[str, Any]) -> list[Wish]:
    """What a settings file names by path, beside lessons, and nothing that was typed replaces."""
    named = (("problem", "", "run the problem"), ("starter", "--starter", "try the kernel"), ("out", "--out", "write"))
    values = [(flag, getattr(file, name), what) for name, flag, what in named if given[name] == getattr(file, name)]
    return [path_wish(flag, value, what) for flag, value, what in values if value is not None]


def with_file(given: Mapping[str, Any], file: RunFile, typed: Callable[[str], bool]) -> dict[str, Any]:
    """The options with what the file says where nothing was typed. A strategy or proposer that was typed in place of
    the file's comes without the options that the file has for its own."""
    merged = dict(given)
    strategy_options = options.pairs(given["strategy_options"], "--option")
    proposer_options = options.pairs(given["proposer_options"], "--proposer-option")
    for name in ("model", "base_url"):
        if given[name] is not None and name in proposer_options:
            raise RequestError(f"{name} is given twice", f"leave --proposer-option {name}=… out")
    same_strategy = not typed("strategy") or given["strategy"] == file.strategy
    same_proposer = not typed("proposer") or given["proposer"] == file.proposer
    for name in file.__struct_fields__:
        value = getattr(file, name)
        its_own = same_proposer or name not in ("model", "base_url")
        if name in given and value is not None and its_own and not typed(name) and name not in proposer_options:
            merged[name] = value
    merged["strategy_options"] = {**((file.option or {}) if same_strategy else {}), **strategy_options}
    merged["proposer_options"] = {**((file.proposer_option or {}) if same_proposer else {}), **proposer_options}
    return merged


def settings_from(problem: str, limits: Budget, given: Mapping[str, Any]) -> RunSettings:
    """What decides a run. given: the options, merged with a file's."""
    named = {name: given[name] for name in ("model", "base_url") if given[name] is not None}
    proposer_options: dict[str, Scalar] = {**given["proposer_options"], **named}
    strategy_options: dict[str, Scalar] = given["strategy_options"]
    if given["proposer"] in WRITERS:
        strategy_options = {**options_for_writers(given["strategy"]), **strategy_options}
    # What cannot be read as a number is refused with the strategy's other options, when the run begins.
    tunings = int(text) if (text := str(strategy_options.get("tuning", 0))).isdecimal() else 0
    return RunSettings(
        problem=problem,
        strategy=given["strategy"],
        strategy_options=strategy_options,
        proposer=given["proposer"],
        proposer_options=proposer_options,
        seed=given["seed"],
        budget=Budget(trials=DEFAULT_TRIALS * (1 + tunings)) if limits == Budget() else limits,
        in_flight=given["in_flight"],
        dtype=given["dtype"],
        unqualified=given["unqualified"],
        control=given["control"],
        lessons=given["lessons"],
        starter=given["starter"],
    )


def refuse_what_is_decided(ctx: click.Context) -> None:
    """Raise a usage error for an option that a resumed run cannot take any more."""
    for name in ctx.params:
        if name not in EXTENDABLE and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            flag = next(param.opts[0] for param in ctx.command.params if param.name == name)
            raise click.UsageError(f"{flag} was decided when the run began; --resume takes limits only.")
