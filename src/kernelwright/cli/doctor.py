"""`doctor`: tests what this machine can do. It reports only what it tried."""

from __future__ import annotations

from dataclasses import replace

import click

from kernelwright.cli.context import json_option, worker_command
from kernelwright.cli.output import say, say_document
from kernelwright.jobs.doctor import examine
from kernelwright.jobs.worker import Desk
from kernelwright.report.examination import examination_document, examination_text


@click.command()
@json_option
@click.option("--gpus", metavar="all|N|UUID,…", help="Examine each of these GPUs of this machine by itself.")
@click.option("--workers", multiple=True, metavar="PLACE", help="Examine these workers (see `optimize`). Repeatable.")
@worker_command
def doctor(ctx: click.Context, desk: Desk, as_json: bool, gpus: str | None, workers: tuple[str, ...]) -> None:
    """Show what this machine can do, and what it cannot.

    Tries to break out of the confinement of candidates, has kernels judged whose verdict is known (on a GPU also
    timed), and names the GPU, the profiler and the model providers' keys that it finds. Exit status 1: a verdict was
    not the known one, so no other result of this machine counts. A missing GPU is reported and is not a failure.
    With --gpus or --workers each is examined by itself, one after the other.
    """
    lanes = desk.places.lanes_on(gpus, workers)
    if not lanes:
        found = examine(desk)
        say(examination_text(found), as_json)
        say_document(examination_document(found), as_json)
        ctx.exit(1 if found.failed else 0)
    examined = {}
    for lane in lanes:
        say(f"worker {lane.name}\n", as_json)
        examined[lane.name] = examine(replace(desk, start_worker=desk.places.workers_on([lane])))
        say(examination_text(examined[lane.name]) + "\n", as_json)
    say_document({"workers": {name: examination_document(one) for name, one in examined.items()}}, as_json)
    ctx.exit(1 if any(one.failed for one in examined.values()) else 0)
