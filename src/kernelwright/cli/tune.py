"""`tune`: the best config of one candidate. No model writes anything; only tunables change.

Here are its options and on what it runs; `kernelwright.tune` does the work, and `tuning` writes the files. The rule:
whatever can be refused without a worker is refused before one starts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernelwright.cli import options
from kernelwright.cli.advice import advisor_from
from kernelwright.cli.gate import pass_gate, unqualified_option
from kernelwright.cli.output import note, say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.cli.tuning import Begin, Job, imported_rows
from kernelwright.errors import RequestError

if TYPE_CHECKING:
    from kernelwright.spaces.protocol import Sampler
    from kernelwright.spaces.space import Config, Space
    from kernelwright.tune import Outcome, Settings

DEFAULT_TRIALS = 60
"""Where no limit is given: about a minute on a GPU, and a tenth or more of most spaces."""

IN_FLIGHT = 4
"""One is timed while others are recorded and verified; a sampler learns nothing within so many."""


@click.command()
@click.argument("problem", required=False)
@click.argument("candidate", required=False)
@click.option(
    "--sampler",
    default="model",
    show_default=True,
    help="What to try next: model (a surrogate), random, local, exhaustive, or optuna (needs it installed).",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    help=f"Stop after so many configs (default where no limit is given: {DEFAULT_TRIALS}; exhaustive: all).",
)
@click.option("--minutes", type=options.LIMIT, help="Ask for nothing more after so many.")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides every random choice.")
@click.option("--space", metavar="FILE", help="The space, as TOML or a Python dict (default: found in the source).")
@click.option(
    "--case", "cases", multiple=True, metavar="NAME", help="Tune for this case only. Repeatable; default: all timed."
)
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    default=IN_FLIGHT,
    show_default=True,
    help="Configs of one generation: tried at once, told to the sampler together.",
)
@click.option("--no-early-stop", is_flag=True, help="Go on to the limit even if the sampler expects nothing more.")
@click.option(
    "--import",
    "imported",
    metavar="FILE",
    help="Try the configs of this history.csv or T4 file first; their times are not believed.",
)
@click.option(
    "--advisor",
    metavar="NAME",
    help="Ask once for configs to begin with: openai, anthropic, mailbox (you answer, by a file) or script.",
)
@click.option("--model", metavar="NAME", help="The model to ask, for openai and anthropic.")
@click.option("--base-url", metavar="URL", help="Where the model's interface is, if not at its usual place.")
@click.option(
    "--advisor-option", "advisor_options", multiple=True, metavar="KEY=VALUE", help="For the advisor. Repeatable."
)
@click.option(
    "--recorded",
    metavar="FILE",
    help="Replay this recorded space (or one that ships, by its name) instead of measuring; needs no GPU.",
)
@unqualified_option
@click.option("--out", metavar="DIR", help="Where the results go (default: a new folder under ./tuned).")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def tune(ctx: click.Context, parts: Parts, /, problem: str | None, candidate: str | None, **given: Any) -> None:
    """Search the configs of a candidate: block sizes, warps, stages.

    PROBLEM is a file, a folder with problem.py, or a name in ./gallery; CANDIDATE a Python file, by default the
    problem's starter.py. Neither is needed with --recorded. The folder gets best_config.json, configs.py (for
    triton.autotune), history.csv, t4.json and report.txt. Exit status 1: no config passed.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    from kernelwright.tune import Settings

    if given["recorded"] is None and problem is None:
        raise click.UsageError("give PROBLEM, or --recorded FILE.")
    unlimited = given["trials"] is None and given["minutes"] is None and given["sampler"] != "exhaustive"
    settings = Settings(
        sampler=given["sampler"],
        seed=given["seed"],
        trials=DEFAULT_TRIALS if unlimited else given["trials"],
        minutes=given["minutes"],
        in_flight=given["in_flight"],
        early_stop=not given["no_early_stop"],
        dtype=given["dtype"],
    )
    check_sampler(settings.sampler)
    rows = imported_rows(given["imported"])
    advisor = advisor_from(given["advisor"], given["model"], given["base_url"], given["advisor_options"])
    if given["recorded"] is not None:
        for name in ("cases", "space", "dtype", "target", "unqualified"):
            if given[name]:
                flag = next(param.opts[0] for param in ctx.command.params if param.name == name)
                raise click.UsageError(f"{flag} has no meaning with --recorded: the record decides it.")
        outcome = replayed(given["recorded"], problem, candidate, settings, Begin(rows, advisor), given["out"])
    else:
        assert problem is not None
        outcome = measured(parts, problem, candidate, settings, Begin(rows, advisor), given)
    if outcome is None:
        ctx.exit(0)
    from kernelwright.report.tuning import tuning_document, tuning_text

    say(tuning_text(outcome), given["as_json"])
    if given["as_json"]:
        say_document(tuning_document(outcome))
    ctx.exit(0 if outcome.joint is not None else 1)


def measured(
    parts: Parts, problem: str, candidate: str | None, settings: Settings, begin: Begin, given: dict[str, Any]
) -> Outcome | None:
    """On a worker: measured on its GPU, or estimated without one."""
    from concurrent.futures import ThreadPoolExecutor

    from kernelwright.model import Candidate
    from kernelwright.problems import find_problem, read_problem_text
    from kernelwright.spaces import SAMPLERS
    from kernelwright.spaces.stated import found_space, stated_space
    from kernelwright.tune import LiveDevice

    found = find_problem(problem)
    read_problem_text(found.file)
    if candidate is None and found.starter is None:
        raise RequestError(f"{found.name} has no starter.py beside it", "name the CANDIDATE to tune")
    source = options.candidate(candidate or str(found.starter)).source
    with parts.start_worker(given["target"]) as worker:
        info = worker.load(str(found.file), settings.dtype, timed=given["cases"], narrow=True)
        with ThreadPoolExecutor(1) as beside:  # the source compiles while the problem is judged
            compiled = beside.submit(worker.compile, Candidate(source=source), "tune")
            pass_gate(worker, problem, given["unqualified"])
        autotune = compiled.result().autotune
        if given["space"] is not None:
            space = stated_space(Path(given["space"]), source, autotune)
        else:
            space = found_space(source, autotune)
        job = Job(info, source, space, LiveDevice(worker, source, info), settings, begin, given["out"])
        return job.run(SAMPLERS[settings.sampler], worker.qualify().reason if given["unqualified"] else "")


def replayed(
    file: str, problem: str | None, candidate: str | None, settings: Settings, begin: Begin, out: str | None
) -> Outcome | None:
    """From a record: no worker, no GPU, and every time called replayed."""
    from kernelwright.spaces import SAMPLERS
    from kernelwright.spaces.recorded import Within, load
    from kernelwright.spaces.space import size
    from kernelwright.tune import ReplayedDevice

    recorded = load(record_file(file))
    if problem is not None and Path(problem).name != recorded.problem:
        raise RequestError(f"{file} is a record of {recorded.problem}, not of {problem}", "leave PROBLEM out")
    if candidate is not None and options.candidate(candidate).source != recorded.candidate:
        raise RequestError(f"{file} is a record of another source than {candidate}", "leave CANDIDATE out")
    if len(recorded.entries) < size(recorded.space):
        note(f"{file} holds {len(recorded.entries)} of {size(recorded.space)} configs; no other is asked for")

    def held(space: Space, seed: int, first: tuple[Config, ...] = ()) -> Sampler:
        return Within(SAMPLERS[settings.sampler](space, seed, first=first), recorded)

    job = Job(recorded.problem, recorded.candidate, recorded.space, ReplayedDevice(recorded), settings, begin, out)
    return job.run(held)


def record_file(name: str) -> Path:
    """A file, or the name of a record that ships with kernelwright."""
    from kernelwright.spaces.recorded import shipped

    if Path(name).exists():
        return Path(name)
    found = shipped()
    if name not in found:
        raise RequestError(f"no recorded space at {name!r}", f"give a file, or one of {', '.join(found) or 'none'}")
    return found[name]


def check_sampler(name: str) -> None:
    """Raises `ConfigError` for one that does not exist or is not installed, before a worker starts."""
    from kernelwright.spaces import build_sampler
    from kernelwright.spaces.space import Parameter, Space

    build_sampler(name, Space(parameters=(Parameter(name="any", choices=(1,), default=1),)), 0)
