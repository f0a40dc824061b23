"""A process that executes a candidate's text can say that it failed; it cannot say that the candidate passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelwright.model import Candidate, Status
from kernelwright.worker.children import Child
from kernelwright.worker.evaluate import evaluate
from kernelwright.worker.outcome import failure
from on_site import CANDIDATE, opened


@pytest.mark.parametrize("role", ["compiler", "runs kernels"])
@pytest.mark.parametrize("purpose", ["verify", "search"])
def test_no_process_that_runs_a_kernels_text_can_pass_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, purpose: str
) -> None:
    ask = Child.ask

    def forged(child: Child, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        if child.role != role or message.get("verb") == "reserve":
            return ask(child, message, timeout_s)
        return {"status": "passed", "reason": ""}

    with opened(tmp_path) as site:
        role = ("bench" if site.on_gpu else "interpreter") if role == "runs kernels" else role
        monkeypatch.setattr(Child, "ask", forged)
        found = evaluate(site, Candidate(source=CANDIDATE), purpose)
    assert found.status is Status.REJECTED
    assert all(result.status is not Status.PASSED for result in found.results)


@pytest.mark.parametrize("said", [{}, {"status": "passed"}, {"status": ["wrong"]}, {"status": "right"}])
def test_what_is_no_failure_is_a_rejection(said: dict[str, Any]) -> None:
    assert failure(said).status is Status.REJECTED


def test_a_failure_is_taken_as_it_is_said() -> None:
    ended = failure({"status": "not_verified", "reason": "bf16", "whole": True})
    assert (ended.status, ended.reason, ended.whole) == (Status.NOT_VERIFIED, "bf16", True)
