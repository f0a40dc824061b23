"""Progress in a notebook. rich finds out where it runs, and IPython takes the table: both are stood in for here."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kernelwright
from command_line import PROBLEM
from kernelwright.api.notebook import is_notebook
from samples import SOURCE
from started import starting


class Output:
    """What IPython gives for a display that can be renewed."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def display(self, shown: Any, display_id: bool) -> Output:
        assert display_id
        self.update(shown)
        return self

    def update(self, shown: Any) -> None:
        self.pages.append(shown._repr_mimebundle_(include=[], exclude=[])["text/html"])


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Output:
    """Of a notebook that this process serves."""
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    found = Output()
    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.version_info = (9, 0)  # type: ignore[attr-defined]
    module.display = found.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    return found


def test_a_search_in_a_notebook_renews_one_table(output: Output, caplog: pytest.LogCaptureFixture) -> None:
    run = kernelwright.optimize("double", trials=8, in_flight=1, out="run", start_worker=starting())
    first, last = output.pages[0], output.pages[-1]
    assert "none yet" in first
    assert all(label in last for label in ("best so far", "gap", "trials", "budget left"))
    assert "none yet" not in last
    assert len(output.pages) > len(run.trials)
    assert not any(record.getMessage().startswith("trial ") for record in caplog.records), "not twice"


def test_who_gives_a_function_for_messages_gets_lines(output: Output) -> None:
    said: list[str] = []
    kernelwright.optimize("double", trials=8, in_flight=1, out="run", start_worker=starting(), notify=said.append)
    assert output.pages == []
    assert any(line.startswith("trial 0 evaluation") for line in said)


def test_a_program_that_serves_no_notebook_is_none() -> None:
    assert not is_notebook()
