"""Importing kernels that another program found, called from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.jobs.importing import import_seeds
from kernelwright.jobs.worker import Desk
from started import starting

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = {block}\n"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem with a starter, and two kernels of an agent: a slow one and a wrong one."""
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text("BLOCK = 512\n")
    for number, block, failing in ((1, 128, ""), (2, 64, "# fails: wrong\n")):
        home = tmp_path / "agent" / "optimization_trace" / f"round_{number}"
        home.mkdir(parents=True)
        (home / "kernel.py").write_text(KERNEL.format(block=block) + failing)


def test_what_passes_is_written_beside_the_record_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    worker = FakeWorker()
    notes: list[str] = []
    found = import_seeds(Path("double"), Path("agent"), out=Path("there"), desk=Desk(notes.append, starting(worker)))
    assert sorted(file.name for file in Path("there").iterdir()) == ["best.py", "imported.json", "round_1.py"]
    assert (found.folder, found.best, found.imported.best) == (Path("there"), Path("there/best.py"), "round_1")
    assert found.imported.starter is not None
    assert found.imported.starter.score_us == 100.0
    assert notes == ["the problem's own: passed", "round_1: passed", "round_2: wrong"]
    assert worker.closed
    assert capsys.readouterr() == ("", "")
