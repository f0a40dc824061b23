"""Click context object: how commands start a worker (tests inject a fake), and the options of every such command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import click

from kernelwright.jobs.worker import PLACES, Places, StartWorker, local_worker
from kernelwright.model import LibraryMode


@dataclass(frozen=True)
class Parts:
    """How the commands start workers; kept in click's context object."""

    start_worker: StartWorker = local_worker
    places: Places = PLACES


pass_parts = click.make_pass_decorator(Parts, ensure=True)

target_option = click.option(
    "--target",
    metavar="sm_NN",
    help="Compile for this target; only on a machine without a GPU (default there: sm_90).",
)

gpus_option = click.option(
    "--gpus",
    metavar="all|N|UUID,…",
    help="Evaluate on several GPUs of this machine; --in-flight is then 4 for each by default (without a GPU: on N "
    "workers that interpret). Times are compared as ratios taken on one GPU.",
)

workers_option = click.option(
    "--workers",
    multiple=True,
    metavar="PLACE",
    help="Evaluate on workers elsewhere: ssh:HOST, ssh:HOST*4 (four GPUs), ray*4 or ssh:HEAD:ray*4 (of a Ray cluster), "
    "or 'argv:COMMAND', a command that starts one. Repeatable; with --gpus beside those of this machine.",
)

cases_option = click.option(
    "--cases",
    "which",
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
    "--unqualified",
    is_flag=True,
    help="Go on even if the problem accepts trivial answers (see `check`); every result is marked.",
)
