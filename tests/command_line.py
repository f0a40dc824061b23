"""The command line as a test calls it: words in; status, standard output and standard error out.

In this process, with a fake worker in place of a real one. The rule: what a verb starts is brought as an argument
(`Parts`), nothing is patched.
"""

from __future__ import annotations

from contextlib import closing

from click.testing import CliRunner, Result

from fakes import FakeWorker
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.runs import GENERATING, QUALIFYING, READING, STARTING

PROBLEM = """\
class Model:
    def forward(self, x):
        return 2 * x


def get_inputs():
    return []


def get_init_inputs():
    return []
"""

STAGES = (STARTING, READING, GENERATING, QUALIFYING)


def run(*words: str, worker: Worker | None = None, **environment: str) -> Result:
    """`kernelwright WORDS`. environment: variables that are set meanwhile."""
    parts = Parts(start_worker=lambda target: closing(worker or FakeWorker()))
    return CliRunner().invoke(cli, words, obj=parts, env=environment)


def fault(result: Result) -> str:
    """The one line that a request or machine at fault leaves on standard error, after those of the stages before."""
    assert result.exit_code == 2, (result.exit_code, result.stdout, result.stderr)
    lines = [line for line in result.stderr.splitlines() if not line.endswith(STAGES)]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.output
    return lines[0]
