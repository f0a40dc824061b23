"""The supervisor as a process: however it ends, nothing of it stays behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import ConfigError
from kernelwright.pool import start_worker

pytest.importorskip("torch", reason="the worker needs torch: pip install -e '.[worker]'")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a worker that is started now keeps its scratch."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_worker_that_cannot_start_leaves_nothing_behind(temporary: Path) -> None:
    with pytest.raises(ConfigError, match="unknown target 'sm_999'"):
        start_worker(target="sm_999")
    assert list(temporary.iterdir()) == []


def test_a_worker_that_was_closed_leaves_nothing_behind(temporary: Path) -> None:
    with start_worker() as worker:
        worker.environment()
        assert list(temporary.iterdir()) != []
    assert list(temporary.iterdir()) == []
