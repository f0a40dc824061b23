"""`doctor`: tests what this machine can do. It reports only what it tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from kernelwright.cli.context import Parts, pass_parts, target_option
from kernelwright.cli.output import say, say_document
from kernelwright.codec import plain
from kernelwright.jobs.doctor import Canary, Examination, examine
from kernelwright.model import Machine
from kernelwright.report.evaluation import environment_settings, settings_text


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.option("--gpus", metavar="all|N|UUID,…", help="Examine each of these GPUs of this machine by itself.")
@click.option("--workers", multiple=True, metavar="PLACE", help="Examine these workers (see `optimize`). Repeatable.")
@target_option
@pass_parts
@click.pass_context
def doctor(
    ctx: click.Context, parts: Parts, target: str | None, as_json: bool, gpus: str | None, workers: tuple[str, ...]
) -> None:
    """Show what this machine can do, and what it cannot.

    Tries to break out of the confinement of candidates, has kernels judged whose verdict is known (on a GPU also
    timed), and names the GPU, the profiler and the model providers' keys that it finds. Exit status 1: a verdict was
    not the known one, so no other result of this machine counts. A missing GPU is reported and is not a failure.
    With --gpus or --workers each is examined by itself, one after the other.
    """
    lanes = parts.places.lanes_on(gpus, workers)
    if not lanes:
        found = examine(start_worker=parts.start_worker, target=target)
        say_examination(found, as_json)
        if as_json:
            say_document(document(found))
        ctx.exit(1 if found.failed else 0)
    examined = {}
    for lane in lanes:
        say(f"worker {lane.name}\n", as_json)
        examined[lane.name] = examine(start_worker=parts.places.workers_on([lane]), target=target)
        say_examination(examined[lane.name], as_json)
        say("", as_json)
    if as_json:
        say_document({"workers": {name: document(one) for name, one in examined.items()}})
    ctx.exit(1 if any(one.failed for one in examined.values()) else 0)


def say_examination(found: Examination, as_json: bool) -> None:
    machine, timed_too = found.machine, found.environment.device is not None
    for title, lines in (
        ("environment", environment_settings(found.environment)),
        ("machine", {"GPU": machine.gpu, "NVML": machine.nvml, "profiler": machine.profiler}),
        ("confinement of candidates: measures", machine.measures),
        ("confinement of candidates: what an intruder tried", attempts_by_outcome(machine)),
        ("model providers", {name: "set" if is_set else "not set" for name, is_set in found.providers.items()}),
        ("caches", found.caches),
        ("canaries", canary_texts(found.canaries)),
    ):
        say(settings_text(title, lines) + "\n", as_json)
    say(conclusion(machine, found.failed, timed_too), as_json)


def document(found: Examination) -> dict[str, Any]:
    return {
        "environment": found.environment, "machine": plain(found.machine), "providers": found.providers,
        "caches": found.caches,
        "canaries": [asdict(canary) | {"good": canary.good} for canary in found.canaries],
    }  # fmt: skip


def attempts_by_outcome(machine: Machine) -> dict[str, str]:
    """One line for each attempt to escape, with what stopped it; lines that are the same for all roles are joined."""
    texts: dict[str, str] = {}
    for what in dict.fromkeys(attempt.what for attempt in machine.attempts):
        how = {a.role: f"refused: {a.how}" if a.refused else f"POSSIBLE: {a.how}"
               for a in machine.attempts if a.what == what}  # fmt: skip
        alike = len(set(how.values())) == 1
        texts |= {what: next(iter(how.values()))} if alike else {f"{role}: {what}": text for role, text in how.items()}
    return texts


def canary_texts(canaries: Sequence[Canary]) -> dict[str, str]:
    texts = {}
    for canary in canaries:
        wanted = "as it must be" if canary.good else f"MUST BE {canary.expected}"
        texts[canary.what] = f"{canary.got}, {wanted}" + (f" ({canary.detail})" if canary.detail else "")
    return texts


def conclusion(machine: Machine, failed: Sequence[Canary], timed_too: bool) -> str:
    """The conclusion in a few lines: whether results of this machine count, and what candidates could reach."""
    lines = [f"{len(failed)} of the canaries failed: do not trust results from this machine."]
    if not failed:
        lines = ["Every canary got its known verdict." + ("" if timed_too else " Nothing was timed: no GPU.")]
    open_ways = [f"{attempt.what} ({attempt.role})" for attempt in machine.attempts if not attempt.refused]
    if open_ways:
        lines.append(f"Code of candidates could here: {'; '.join(open_ways)}. See docs/confinement.md.")
    else:
        lines.append("Sandbox: no escape attempt succeeded.")
    return "\n".join(lines)
