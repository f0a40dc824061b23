"""`optimize` for several problems: what it prints and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import PROBLEM, fault, run
from samples import SOURCE


@pytest.fixture(autouse=True)
def several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two problems in a folder, with a starter each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernelwright.report.files.draw_plots", lambda view: ())
    for name in ("one", "two"):
        Path(f"all/{name}").mkdir(parents=True)
        Path(f"all/{name}/problem.py").write_text(PROBLEM)
        Path(f"all/{name}/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))


def test_a_folder_of_problems_is_searched_and_resumed() -> None:
    found = run("optimize", "all", "--trials", "8", "--in-flight", "1", "--out", "runs/all")
    assert found.exit_code == 0, found.stderr
    assert "2 problems: " in found.stdout
    assert "stopped: the budget of 8 trials is spent" in found.stdout
    assert "kernelwright optimize --resume runs/all" in found.stdout
    again = run("optimize", "--resume", "runs/all", "--trials", "12", "--json")
    assert again.exit_code == 0, again.stderr
    document = json.loads(again.stdout)
    assert sum(line["trials"] for line in document["problems"]) == 12
    assert [line["name"] for line in document["problems"]] == ["one", "two"]
    assert document["reason"] == "trials"
    assert [total["library"] for total in document["totals"]] == ["none"]


def test_a_problem_that_cannot_be_read_is_a_row_and_the_status_is_1() -> None:
    Path("broken.py").write_text("class Model(:\n")
    found = run("optimize", "all/one", "broken.py", "--trials", "6", "--in-flight", "1")
    assert found.exit_code == 1
    assert "broken.py, line 1" in found.stdout
    assert "1 refused" in found.stdout


def test_what_fits_one_problem_only_is_refused() -> None:
    assert "--dry-run shows one problem, and 2 are named" in run("optimize", "all", "--dry-run").stderr
    assert "--starter fits one problem" in fault(run("optimize", "all", "--starter", "all/one/starter.py"))
    assert run("optimize", "all", "--resume", "runs/all").exit_code == 2
