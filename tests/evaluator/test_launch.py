"""Launchers: where a worker runs."""

from __future__ import annotations

import sys

import pytest

from kernelwright.errors import MachineError
from kernelwright.evaluator.launch import LAUNCHERS, start_worker


def test_a_worker_is_started_by_its_launcher_unless_an_argv_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", lambda: ["/no/such/launcher"])
    with pytest.raises(MachineError, match="cannot start a worker by /no/such/launcher"):
        start_worker()
    with pytest.raises(MachineError, match="cannot start a worker by /no/such/program"):
        start_worker(["/no/such/program"])


def test_the_local_launcher_runs_this_python() -> None:
    assert LAUNCHERS["local"]() == [sys.executable, "-m", "kernelwright.worker"]
