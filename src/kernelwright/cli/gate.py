"""`bench --against`: says whether a candidate is slower than a recorded one, as text, JSON and JUnit XML for CI."""

from __future__ import annotations

import click

from kernelwright.cli.output import hand_out, say, write_text
from kernelwright.errors import MachineError
from kernelwright.jobs.bench import BenchSettings
from kernelwright.jobs.gate import NO_GPU, gate
from kernelwright.jobs.worker import Desk
from kernelwright.report.gate import gate_text, junit_text


def fraction_of(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A percentage such as "2%", as a fraction. The sign is required, or 2 could be taken for a factor."""
    try:
        percent = float(value.removesuffix("%")) if value.endswith("%") else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 1000:
        raise click.BadParameter(f"{value!r} is no percentage such as 2%.")
    return percent / 100


def run_gate(
    problem: str,
    candidate: str,
    against: str,
    settings: BenchSettings,
    *,
    max_slowdown: float,
    junit: str | None,
    json_file: str | None,
    desk: Desk,
) -> int:
    """The exit status: 0 not slower, 1 slower or not right. Raises `MachineError` where something was not measured and
    nothing is slower; the files are written all the same."""
    report = gate(problem, candidate, against, max_slowdown, settings, desk=desk)
    if junit is not None:
        write_text(junit_text(report), junit)
    hand_out(report, json_file)
    if report.environment.device is None:
        raise MachineError(f"nothing was measured: {NO_GPU}", "status 2: neither slower nor as fast is known")
    say(gate_text(report), json_file == "-")
    if report.refuses:
        return 1
    if report.unmeasured:
        names = ", ".join(case.case for case in report.unmeasured)
        raise MachineError(f"not measured: {names}", "status 2: the reasons are above")
    return 0
