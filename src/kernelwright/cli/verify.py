"""`verify`: judges whether candidates compute what the problem asks for."""

from __future__ import annotations

from pathlib import Path

import click

from kernelwright.cli import complete, options
from kernelwright.cli.context import config_option, dtype_option, json_option, judging_options, worker_command
from kernelwright.cli.output import note, say, say_document
from kernelwright.errors import MachineError, RequestError
from kernelwright.folders import require_writable
from kernelwright.jobs import verify as job
from kernelwright.jobs.worker import Desk
from kernelwright.model import LEFT_OUT, Evaluation, Loading, Status
from kernelwright.report.evaluation import (
    environment_settings,
    evaluation_text,
    settings_text,
    verdict_texts,
    verifications_table,
    where_text,
)
from kernelwright.source import judged_text


@click.command()
@click.argument("problem", shell_complete=complete.problems)
@click.argument("candidates", nargs=-1, required=True, metavar="CANDIDATE...")
@config_option("candidates' tunables, or a JSON file of them")
@click.option(
    "--long", is_flag=True, help="Print every case, what the compiler said, the sandbox and the environment, too."
)
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the judged text of a candidate that passed: without code that breaks a rule and that no case ran.",
)
@dtype_option
@judging_options
@json_option
@worker_command
def verify(
    ctx: click.Context,
    desk: Desk,
    problem: str,
    candidates: tuple[str, ...],
    config: tuple[str, ...],
    long: bool,
    write: Path | None,
    loading: Loading,
    as_json: bool,
) -> None:
    """Judge whether candidates compute what the problem asks for.

    PROBLEM is a file, a folder with problem.py, or a name in the gallery. CANDIDATE is a Python file that defines
    ModelNew or kernel_function. Several are judged by one worker and shown in one table; --json then gives a list.
    Exit status 1: one was wrong, rejected, or failed, or breaks a rule where no case ran it; 2: this machine could not
    judge one.

    PROBLEM's file is executed with your rights; a candidate's is confined.
    """
    several = len(candidates) > 1
    if write is not None:
        if several:
            raise RequestError(
                f"--write takes one candidate, not {len(candidates)}", "verify the one that is to be written"
            )
        require_writable(write)

    def show_one(position: int, one: job.Verification) -> None:
        if several:
            note(f"{position + 1} of {len(candidates)}: {candidates[position]}: {one.evaluation.status.value}")

    judged = job.verify_all(
        problem,
        [options.candidate(candidate, config) for candidate in candidates],
        loading,
        desk=desk,
        on_verified=show_one,
    )
    info, environment = judged[0].problem, judged[0].environment
    named = list(zip(candidates, (one.evaluation for one in judged), strict=True))
    if several:
        say(f"{info.title}\n\n{verifications_table(named)}\n", as_json)
    for name, found in named if long or not several else ():
        text = evaluation_text(found, info.cases) if long else "\n".join(verdict_texts(found, info.cases))
        say(f"{name} for {info.title}\n\n{text}\n", as_json)
    say(settings_text("environment", environment_settings(environment)) if long else where_text(environment), as_json)
    if not long:
        say("every case, what the compiler said, the sandbox and the environment: --long", as_json)
    documents = [one.document(candidate) for candidate, one in zip(candidates, judged, strict=True)]
    say_document(documents if several else documents[0], as_json)
    end(ctx, named)
    if write is not None:
        write.write_text(judged_text(judged[0].candidate, judged[0].evaluation), encoding="utf-8")
    elif left_out := [name for name, found in named if any(one.startswith(LEFT_OUT) for one in found.unjudged)]:
        note(f"{', '.join(left_out)}: not the file itself was judged, but the text that --write FILE writes")
        ctx.exit(1)


def end(ctx: click.Context, named: list[tuple[str, Evaluation]]) -> None:
    """Exit with status 1 if a candidate failed; raise MachineError, status 2, if one was not verified."""
    if any(found.status not in (Status.PASSED, Status.NOT_VERIFIED) for _, found in named):
        ctx.exit(1)
    if unjudged := [(name, found.reason) for name, found in named if found.status is Status.NOT_VERIFIED]:
        raise MachineError(
            "; ".join(f"{name} was not verified on this machine: {reason}" for name, reason in unjudged),
            "verify it on a machine with a GPU",
        )
