"""`doctor`."""

from __future__ import annotations

import json

from command_line import run
from fakes import FakeWorker
from kernelwright.model import Candidate, Evaluation, Status


def _passing(candidate: Candidate, purpose: str) -> Evaluation:
    assert "triton" in candidate.source
    assert purpose == "verify"
    return Evaluation(status=Status.PASSED, verified_on="interpreter", confinement={"network": "none"})


def test_what_was_tried_is_reported_with_confinement_and_keys() -> None:
    result = run("doctor", "--json", worker=FakeWorker(answer=_passing), OPENAI_API_KEY="secret", ANTHROPIC_API_KEY="")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["probe"]["status"] == "passed"
    assert document["probe"]["confinement"] == {"network": "none"}
    assert document["providers"]["OPENAI_API_KEY"] is True
    assert document["providers"]["ANTHROPIC_API_KEY"] is False
    assert "secret" not in result.output


def test_a_machine_that_fails_a_good_kernel_is_at_fault() -> None:
    def crash(candidate: Candidate, purpose: str) -> Evaluation:
        del candidate, purpose
        return Evaluation(status=Status.CRASHED, reason="signal 11")

    result = run("doctor", worker=FakeWorker(answer=crash))
    assert result.exit_code == 2
    assert "crashed: signal 11" in result.stderr.splitlines()[-1]
