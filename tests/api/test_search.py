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
    assert said[0] == f"run folder: {run.folder}"
    assert run.best is not None
    assert len(run.trials) >= 16
    assert "as fast as the starter's 400.0 µs" in run.verdict
    again = kernelwright.open_run(run)
    assert (again.best, again.verdict) == (run.best, run.verdict)


def test_an_option_that_does_not_fit_is_refused_before_anything_starts() -> None:
    with pytest.raises(RequestError, match="these options cannot be used"):
        kernelwright.optimize("double", trials=0, start_worker=pytest.fail)


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
