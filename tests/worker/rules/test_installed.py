"""Names in the installed Triton: read from its files, whatever stands in for it in this process."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from kernelwright.worker.rules import installed


def test_names_are_read_from_files_while_something_stands_in_for_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", ModuleType("triton"))
    installed._names_of.cache_clear()
    assert installed.is_installed("triton.language", "load")
    assert not installed.is_installed("triton.language", "no_such_name")
    assert installed.is_installed("json", "no_such_name")
