"""A process that executes a candidate's text can say that it failed; it cannot say that the candidate passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelwright.model import Candidate, Status
from kernelwright.worker.bench.messages import Reserve
from kernelwright.worker.processes.children import Child
from kernelwright.worker.stages.evaluate import evaluate
from on_site import CANDIDATE, opened


@pytest.mark.parametrize("role", ["compiler", "runs kernels"])
@pytest.mark.parametrize("purpose", ["verify", "search"])
def test_no_process_that_runs_a_kernels_text_can_pass_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, purpose: str
) -> None:
    ask = Child.ask

    def forged(child: Child, message: Any, timeout_s: float) -> dict[str, Any]:
        if child.role != role or isinstance(message, Reserve):
            return ask(child, message, timeout_s)
        return {"answer": "failure", "status": "passed", "reason": ""}

    with opened(tmp_path) as session:
        role = ("bench" if session.processes.on_gpu else "interpreter") if role == "runs kernels" else role
        monkeypatch.setattr(Child, "ask", forged)
        found = evaluate(session, Candidate(source=CANDIDATE), purpose)
    assert found.status in (Status.REJECTED, Status.RUNTIME_ERROR)
    assert "cannot be read" in found.reason
    assert all(result.status is not Status.PASSED for result in found.results)
