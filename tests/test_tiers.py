"""The markers `pure` and `process`, and what holds a pure test to its name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import tiers

KNOWN = {
    "test_stats.py": "pure", "search/test_judging.py": "pure", "worker/rules/test_static.py": "pure",
    "worker/judge/test_tolerance.py": "process",  # imports torch
    "cli/test_signals.py": "process",  # imports subprocess
    "honest/test_honest.py": "process",  # takes a worker
    "worker/stages/test_measure.py": "process",  # what it imports of the package imports torch
    "worker/test_compile_cache.py": "process",  # opens a site, through another file of tests
}  # fmt: skip


def test_every_test_of_a_device_says_that_it_needs_one() -> None:
    """With `-m "not gpu"` the files in gpu/ are not imported."""
    for file in (tiers.TESTS / "gpu").glob("test_*.py"):
        assert "\npytestmark = needs_device()\n" in file.read_text(encoding="utf-8"), file.name


@pytest.mark.parametrize(("file", "expected"), KNOWN.items())
def test_the_tier_of_a_file_follows_from_its_imports(file: str, expected: str) -> None:
    assert tiers.tier(tiers.TESTS / file) == expected


def test_a_file_may_say_that_it_starts_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "TESTS", tmp_path)
    (tmp_path / "test_plain.py").write_text("import json\n")
    (tmp_path / "test_said.py").write_text(f"pytestmark = {tiers.EXPLICIT}\n")
    assert [tiers.tier(file) for file in sorted(tmp_path.iterdir())] == ["pure", "process"]


def test_a_pure_test_cannot_start_a_process() -> None:
    """As this test is pure, it is the fixture of `conftest.py` that refuses."""
    # Reached through another module: an import of it here would make this file `process`.
    popen = sys.modules["subprocess"].Popen
    for start in (lambda: popen(["true"]), os.fork, lambda: os.posix_spawn("/bin/true", ["true"], {})):
        with pytest.raises(AssertionError, match="test_a_pure_test_cannot_start_a_process starts a process"):
            start()


def test_this_run_of_a_pure_test_has_the_marker(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("pure") is not None
    assert request.node.get_closest_marker("process") is None


def test_a_pure_test_may_draw_where_matplotlib_has_never_looked_for_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "FONTS", "true")
    with sys.modules["subprocess"].Popen(["true"]) as process:
        assert process.wait() == 0
