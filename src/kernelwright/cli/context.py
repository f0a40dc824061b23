"""Click context object: how commands start a worker (tests inject a fake); and the options that commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import click

from kernelwright.cli.output import note
from kernelwright.evaluator.client import WEAK_SANDBOX
from kernelwright.jobs.worker import PLACES, Desk, Places, StartWorker, local_worker
from kernelwright.model import SWITCHES, LibraryMode, Loading


@dataclass(frozen=True)
class Parts:
    """How the commands start workers; kept in click's context object."""

    start_worker: StartWorker = local_worker
    places: Places = PLACES


pass_parts = click.make_pass_decorator(Parts, ensure=True)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order of `--help`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")

target_option = click.option(
    "--target", metavar="sm_NN", help="Compile for this target; only on a machine without a GPU (default there: sm_90)."
)
weak_option = click.option(
    "--weak-sandbox",
    is_flag=True,
    expose_value=False,
    callback=lambda ctx, param, is_given: os.environ.update({WEAK_SANDBOX: "1"} if is_given else {}),
    help="Run candidates also where their code can reach your files, environments or sockets (see `doctor`).",
)


def at_desk(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with a `Desk` in place of `parts` and `target`."""

    @functools.wraps(command)
    def call(ctx: click.Context, parts: Parts, /, *, target: str | None, **given: Any) -> Any:
        return command(ctx, Desk(note, parts.start_worker, parts.places, target=target), **given)

    return call


worker_command = together(target_option, weak_option, pass_parts, click.pass_context, at_desk)
"""A command that starts a worker: its options, and `ctx` and `desk` as the first arguments."""

lane_options = together(
    click.option(
        "--gpus",
        metavar="all|N|UUID,…",
        help="Evaluate on several GPUs of this machine; --in-flight is then 4 for each by default (without a GPU: on N "
        "workers that interpret). Times are compared as ratios taken on one GPU.",
    ),
    click.option(
        "--workers",
        multiple=True,
        metavar="PLACE",
        help="Evaluate on workers elsewhere: ssh:HOST, ssh:HOST*4 (four GPUs), ray*4 or ssh:HEAD:ray*4 (of a Ray "
        "cluster), or 'argv:COMMAND', a command that starts one. Repeatable; with --gpus beside those of this machine.",
    ),
)

model_options = together(
    click.option("--model", metavar="NAME", help="The model to ask, for openai and anthropic."),
    click.option("--base-url", metavar="URL", help="The address of the model's API, if it is not the provider's own."),
)

dtype_option = click.option(
    "--dtype",
    help="Cast the problem's module and inputs to this dtype, bfloat16 or float16 (torch's names), in every case.",
)


def cases_option(name: str = "which") -> Decorator:
    """The option `--cases`, as the parameter `name`."""
    return click.option(
        "--cases",
        name,
        type=click.Choice(["stated", "derived"]),
        default="derived",
        show_default=True,
        help="Which cases to use where the problem states no small or odd ones: derive these, or only the stated (see "
        "`check`).",
    )


library_option = click.option(
    "--library",
    type=click.Choice(get_args(LibraryMode)),
    help="Which of PyTorch's operators candidates may call; overrides LIBRARY in the problem's file.",
)

unqualified_option = click.option(
    "--unqualified", is_flag=True, help=next(switch.help for switch in SWITCHES if switch.name == "unqualified")
)


def config_option(of: str) -> Decorator:
    return click.option("--config", multiple=True, metavar="KEY=VALUE|FILE", help=f"Values for the {of}. Repeatable.")


LOADING = ("dtype", "library", "which", "unqualified")
"""Options that say how a problem is loaded, by the names of their parameters."""


def loading_options(*options: Decorator, **fixed: Any) -> Decorator:
    """These options, and of the command's others those in `LOADING`, as its parameter `loading`, a `Loading`. fixed:
    fields that no option of the command sets."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(*args: Any, **given: Any) -> Any:
            asked = {name: given.pop(name) for name in LOADING if name in given}
            return command(*args, loading=Loading(**fixed, **asked), **given)

        return together(*options)(call)

    return decorate


judging_options = loading_options(cases_option(), unqualified_option, library_option)
