"""A run's folder, opened by a program: the committed run of the gallery that the docs show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kernelwright
from kernelwright.api.run import Run
from kernelwright.errors import RunFolderError
from kernelwright.report.plots import drawing

RUN = Path(__file__).parents[2] / "gallery" / "max_pool3d" / "runs" / "mailbox"


@pytest.fixture(scope="module")
def run() -> Run:
    return kernelwright.open_run(RUN)


def test_a_run_says_what_stands_and_holds_its_trials(run: Run) -> None:
    assert run.best in run.trials
    assert run.candidate is not None
    assert run.source is not None
    compile(run.source, "best", "exec")
    assert run.evaluation is not None
    assert run.verdict.splitlines()[0] in str(run)
    assert Path(run) == run.folder == RUN


def test_a_notebook_shows_the_verdict_the_trials_and_the_plots(run: Run) -> None:
    page = run._repr_html_()
    assert page.startswith("<p><b>")
    assert "improve" in page
    assert page.count("<img alt=") == 2
    assert "<script" not in page


def test_without_matplotlib_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr(drawing, "plots_missing", lambda: "matplotlib is not installed")
    page = kernelwright.open_run(RUN)._repr_html_()
    assert page.count("<pre>") == run._repr_html_().count("<pre>")
    assert "<img" not in page


def test_opening_writes_nothing_and_what_is_no_run_is_refused(tmp_path: Path) -> None:
    copy = shutil.copytree(RUN, tmp_path / "run")
    before = sorted((file, file.stat().st_mtime_ns) for file in copy.rglob("*"))
    kernelwright.open_run(copy)
    assert sorted((file, file.stat().st_mtime_ns) for file in copy.rglob("*")) == before
    with pytest.raises(RunFolderError, match=r"holds no journal\.db"):
        kernelwright.open_run(tmp_path)
