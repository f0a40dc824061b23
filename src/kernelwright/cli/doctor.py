"""`doctor`: what this machine can do, found by doing it: confinement attacked, canaries judged and timed.

Not a repair. The rule: a capability is reported because it was tried here, not because a package is installed.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from kernelwright import codec
from kernelwright.cli.output import say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.evaluator.client import Worker
from kernelwright.model import Machine

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


class Canary(NamedTuple):
    """A candidate whose verdict is known, and the verdict it got. detail: the worker's own words."""

    what: str
    expected: str
    got: str
    detail: str

    @property
    def good(self) -> bool:
        return self.got == self.expected


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def doctor(ctx: click.Context, parts: Parts, target: str | None, as_json: bool) -> None:
    """Say what this machine can do, and what it cannot.

    Tries to break out of the confinement of candidates, has kernels judged whose verdict is known (on a GPU also
    timed), and names the GPU, the profiler and the model providers' keys that it finds. Exit status 1: a verdict was
    not the known one, so no other result of this machine counts. A missing GPU is said, and is no failure.
    """
    from kernelwright.problems.canaries import canary_problem
    from kernelwright.report.evaluation import environment_settings, settings_text

    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder, parts.start_worker(target) as worker:
        environment, machine = worker.environment(), worker.machine()
        worker.load(str(canary_problem(Path(folder)).file))
        canaries = judged(worker)
        if environment.device is not None:
            canaries += timed(worker)
    keys = {name: bool(os.environ.get(name)) for name in KEYS}
    has = {"GPU": machine.gpu, "NVML": machine.nvml, "profiler": machine.profiler}
    for title, lines in (
        ("environment", environment_settings(environment)),
        ("machine", has),
        ("confinement of candidates: measures", machine.measures),
        ("confinement of candidates: what an intruder tried", attempts_told(machine)),
        ("model providers", {name: "set" if found else "not set" for name, found in keys.items()}),
        ("canaries", canaries_told(canaries)),
    ):
        say(settings_text(title, lines) + "\n", as_json)
    failed = [canary for canary in canaries if not canary.good]
    say(conclusion(machine, failed, timed_too=environment.device is not None), as_json)
    if as_json:
        told = [canary._asdict() | {"good": canary.good} for canary in canaries]
        say_document({
            "environment": environment, "machine": codec.plain(machine), "providers": keys, "canaries": told,
        })  # fmt: skip
    ctx.exit(1 if failed else 0)


def judged(worker: Worker) -> list[Canary]:
    """The canaries that are verified, on the device or on the interpreter."""
    from kernelwright.problems.canaries import judged_canaries

    found = []
    for what, candidate, expected in judged_canaries():
        evaluation = worker.evaluate(candidate, "verify")
        found.append(Canary(what, expected.value, evaluation.status.value, evaluation.reason))
    return found


def timed(worker: Worker) -> list[Canary]:
    """The canaries that are timed, all against the same kernel in one session."""
    from kernelwright.problems.canaries import TIMED_CASE, reference_canary, timed_canaries

    canaries = timed_canaries()
    candidates = {"reference": reference_canary()} | {canary.what: canary.candidate for canary in canaries}
    report = worker.bench(candidates, cases=(TIMED_CASE,), against="reference")
    rows = {row.name: row for row in report.cases[0].implementations}
    found = []
    for canary in canaries:
        row = rows[canary.what]
        detail = row.reason
        if row.speedup is not None and row.speedup_ci95 is not None:
            low, high = row.speedup_ci95
            detail = f"{row.speedup:.4f} times as fast, 95 % interval {low:.4f} to {high:.4f}"
        found.append(Canary(canary.what, canary.expected, row.verdict or row.status.value, detail))
    return found


def attempts_told(machine: Machine) -> dict[str, str]:
    """What stopped each attempt, where it was stopped in every role alike in one line."""
    told: dict[str, str] = {}
    for what in dict.fromkeys(attempt.what for attempt in machine.attempts):
        how = {a.role: f"refused: {a.how}" if a.refused else f"POSSIBLE: {a.how}"
               for a in machine.attempts if a.what == what}  # fmt: skip
        alike = len(set(how.values())) == 1
        told |= {what: next(iter(how.values()))} if alike else {f"{role}: {what}": text for role, text in how.items()}
    return told


def canaries_told(canaries: list[Canary]) -> dict[str, str]:
    told = {}
    for canary in canaries:
        wanted = "as it must be" if canary.good else f"MUST BE {canary.expected}"
        told[canary.what] = f"{canary.got}, {wanted}" + (f" ({canary.detail})" if canary.detail else "")
    return told


def conclusion(machine: Machine, failed: list[Canary], timed_too: bool) -> str:
    """The answer in a few lines: whether results count, and what candidates could reach."""
    lines = [f"Canaries with another verdict than the known one: {len(failed)}. Trust no result of this machine."]
    if not failed:
        lines = ["Every canary got its known verdict." + ("" if timed_too else " Nothing was timed: no GPU.")]
    open_ways = [f"{attempt.what} ({attempt.role})" for attempt in machine.attempts if not attempt.refused]
    if open_ways:
        lines.append(f"Code of candidates could here: {'; '.join(open_ways)}. See docs/confinement.md.")
    else:
        lines.append("Code of candidates got nowhere that it must not.")
    return "\n".join(lines)
