"""Examining this machine, called from Python."""

from __future__ import annotations

import pytest

from canary_worker import WITHOUT_GPU, Clock, known
from fakes import MACHINE, FakeWorker
from kernelwright.jobs.doctor import examine
from kernelwright.jobs.worker import Desk
from kernelwright.model import Candidate, Evaluation, Status
from started import starting


def test_a_sound_machine_with_a_gpu_gives_every_canary_its_known_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "")
    worker = Clock(answer=known)
    found = examine(Desk(pytest.fail, starting(worker)))
    assert (len(found.canaries), found.failed, found.machine) == (7, (), MACHINE)
    assert (found.providers["OPENAI_API_KEY"], found.providers["ANTHROPIC_API_KEY"]) == (True, False)
    assert worker.closed
    assert capsys.readouterr() == ("", "")


def test_without_a_gpu_no_canary_is_timed() -> None:
    found = examine(Desk(pytest.fail, starting(FakeWorker(answer=known, where=WITHOUT_GPU))))
    assert (len(found.canaries), found.failed) == (4, ())


def test_canaries_with_another_verdict_are_named_with_the_figures() -> None:
    (canary,) = examine(Desk(pytest.fail, starting(Clock(answer=known, resolution=0.05)))).failed
    assert (canary.what, canary.expected, canary.got) == ("a kernel with 1 % less work", "faster", "tie")
    assert canary.detail == "1.0101 times as fast, 95 % interval 1.0101 to 1.0101"


def test_a_judge_that_lets_wrong_kernels_pass_fails_each_of_their_canaries() -> None:
    def lenient(candidate: Candidate, purpose: str) -> Evaluation:
        return Evaluation(status=Status.PASSED)

    found = examine(Desk(pytest.fail, starting(FakeWorker(answer=lenient, where=WITHOUT_GPU))))
    assert [canary.expected for canary in found.failed] == ["wrong", "wrong", "rejected"]
