"""Searching and tuning from a program, with a fake worker."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernelwright
from command_line import PROBLEM
from kernelwright.errors import RequestError
from samples import SOURCE
from started import starting
from tuned import SOURCE as TUNABLE
from tuned import TuneWorker


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    return tmp_path


def test_a_search_gives_the_run_that_it_wrote(home: Path) -> None:
    said: list[str] = []
    problem = kernelwright.Problem.find("double")
    run = kernelwright.optimize(
        problem, trials=16, seed=3, in_flight=1, out=home / "run", start_worker=starting(), notify=said.append
    )
    assert run.folder == home / "run"
    assert said[0] == "double: waiting for a worker"
    assert f"run folder: {run.folder}" in said
    assert run.best is not None
    assert len(run.trials) >= 16
    assert "as fast as the starter's 400.0 µs" in run.verdict
    again = kernelwright.open_run(run)
    assert (again.best, again.verdict) == (run.best, run.verdict)


def test_an_option_that_does_not_fit_is_refused_before_anything_starts() -> None:
    with pytest.raises(RequestError, match="these options cannot be used"):
        kernelwright.optimize("double", trials=0, start_worker=pytest.fail)
    with pytest.raises(TypeError, match="unexpected keyword argument 'trails'"):
        kernelwright.optimize("double", trails=1, start_worker=pytest.fail)


def test_a_tuning_gives_its_outcome_and_its_text(home: Path) -> None:
    Path("double/starter.py").write_text(TUNABLE)
    space = '[parameters]\nBLOCK = [32, 64, 128, 256, 512]\n"k.num_warps" = [1, 2, 4, 8]\n'
    Path("space.toml").write_text(space)
    found = kernelwright.tune(
        "double",
        trials=8,
        sampler="random",
        space="space.toml",
        out=home / "tuned",
        start_worker=starting(TuneWorker()),
    )
    assert found.outcome.settings.trials == 8
    assert found.folder == home / "tuned"
    assert str(found).strip() == (home / "tuned" / "report.txt").read_text().strip()
    assert found._repr_html_().startswith("<p><b>")


def two_problems(home: Path) -> Path:
    """A folder with two problems and their starters."""
    for name in ("one", "two"):
        (home / "all" / name).mkdir(parents=True)
        (home / "all" / name / "problem.py").write_text(PROBLEM)
        (home / "all" / name / "starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    return home / "all"


def test_all_problems_of_a_folder_share_a_budget(home: Path) -> None:
    said: list[str] = []
    found = kernelwright.optimize_all(
        two_problems(home), trials=12, in_flight=1, out=home / "runs", start_worker=starting(), notify=said.append
    )
    assert [line.name for line in found.lines] == ["one", "two"]
    assert sum(line.trials for line in found.lines) <= 12
    assert found.failed == ()
    assert found.folder == home / "runs"
    assert said[:2] == ["budget of all 2 problems together: 12 trials", f"folder of the runs: {found.folder}"]
    assert kernelwright.open_run(found.folder / "one").best is not None
    assert str(found) == (home / "runs" / "table.txt").read_text() + f"\nstopped: {found.detail}"
    assert found._repr_html_().startswith("<p><b>2 problems: ")


def test_several_problems_may_be_named_in_a_list_and_one_at_fault_is_a_line(home: Path) -> None:
    named = [kernelwright.Problem.find("double"), "nothing-of-that-name", two_problems(home) / "two"]
    found = kernelwright.optimize_all(named, trials=9, in_flight=1, start_worker=starting(), out=home / "runs")
    assert [line.name for line in found.lines] == ["double", "nothing-of-that-name", "two"]
    assert found.failed == ("nothing-of-that-name",)
    assert "no problem" in found.lines[1].reason
    with pytest.raises(RequestError, match="these options cannot be used"):
        kernelwright.optimize_all("all", trials=0, start_worker=pytest.fail)
    with pytest.raises(RequestError, match="no problem is named"):
        kernelwright.optimize_all([], start_worker=pytest.fail)
