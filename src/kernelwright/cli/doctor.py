"""`doctor`: what this machine can do, found by doing it on a problem made for the purpose.

Not a repair. The rule: a capability is reported because it was tried here, not because a package is installed.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from kernelwright.cli import options
from kernelwright.cli.output import say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import MachineError
from kernelwright.model import Status

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
def doctor(parts: Parts, target: str | None, as_json: bool) -> None:
    """Say what this machine can do, and what it cannot.

    Starts a worker and verifies a small known-good kernel with it. Exit status 2: the machine failed at that.
    """
    from kernelwright.problems import new_problem
    from kernelwright.report.evaluation import environment_settings, headline, settings_text

    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder, parts.start_worker(target) as worker:
        probe = new_problem("probe", Path(folder))
        environment = worker.environment()
        worker.load(str(probe.file))
        evaluation = worker.evaluate(options.candidate(str(probe.starter)), "verify")
    keys = {name: bool(os.environ.get(name)) for name in KEYS}
    say(settings_text("environment", environment_settings(environment)), as_json)
    say(f"\na known-good kernel: {headline(evaluation)}\n", as_json)
    confinement = evaluation.confinement or {"none": "the worker stated none"}
    say(settings_text("confinement of candidates", confinement), as_json)
    say(
        "\n" + settings_text("model providers", {name: "set" if found else "not set" for name, found in keys.items()}),
        as_json,
    )
    if as_json:
        say_document({"environment": environment, "probe": evaluation, "providers": keys})
    if evaluation.status is not Status.PASSED:
        raise MachineError(
            f"a kernel known to be good ended as {evaluation.status.value}: {evaluation.reason}",
            "the reason names what this machine lacks; see docs/architecture.md, the worker",
        )
