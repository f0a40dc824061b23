"""`--gpus`: which workers a search and a tuning get, and how many evaluations are under way."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kernelwright
from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.errors import RequestError
from kernelwright.evaluator.places import Lane
from kernelwright.jobs.worker import Places, StartWorker
from kernelwright.journal import Journal
from kernelwright.model import RunOptions
from samples import SOURCE
from tuned import SOURCE as TUNED
from tuned import TuneWorker


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    return tmp_path


STARTED: list[str] = []
ONE_PROBLEM = {"problem", "starter", "control"}


def run(*words: str, worker: type[FakeWorker] = FakeWorker) -> Result:
    def lanes_on(gpus: str | int | None, workers: Sequence[str] = ()) -> list[Lane]:
        if gpus is None:
            return [Lane(text) for text in workers]
        if gpus == "9":
            raise RequestError("--gpus 9: this machine shows 2", "give fewer")
        return [Lane(name, None) for name in (*("a", "b", "c")[: int(gpus)], *workers)]

    def workers_on(lanes: list[Lane]) -> StartWorker:
        STARTED[:] = [lane.name for lane in lanes]
        return lambda target: closing(worker())

    def alone(target: str | None) -> closing[FakeWorker]:
        STARTED[:] = []
        return closing(worker())

    return CliRunner().invoke(cli, words, obj=Parts(start_worker=alone, places=Places(lanes_on, workers_on)))


@pytest.mark.parametrize(
    ("words", "lanes", "in_flight"),
    [
        ((), [], 4),
        (("--workers", "ssh:box"), ["ssh:box"], 4),
        (("--gpus", "2"), ["a", "b"], 8),
        (("--gpus", "3", "--in-flight", "5"), ["a", "b", "c"], 5),
    ],
)
def test_a_search_gets_its_lanes_and_four_evaluations_for_each(
    words: tuple[str, ...], lanes: list[str], in_flight: int
) -> None:
    result = run("optimize", "double", "--out", "run", "--trials", "3", *words)
    assert result.exit_code == 0, result.stderr
    assert lanes == STARTED
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.in_flight == in_flight
    assert run("optimize", "--resume", "run", "--trials", "4", "--gpus", "1", "--workers", "ssh:box").exit_code == 0
    assert STARTED == ["a", "ssh:box"]


def test_a_settings_file_decides_how_many_are_under_way() -> None:
    Path("kernelwright.toml").write_text("in_flight = 3\n")
    assert run("optimize", "double", "--out", "run", "--trials", "3", "--gpus", "2").exit_code == 0
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.in_flight == 3


def test_a_settings_file_names_lanes_and_what_is_typed_takes_their_place() -> None:
    Path("kernelwright.toml").write_text('gpus = 2\nworkers = ["ssh:box", "argv:./start"]\n')
    typed = ("--workers", "ssh:box", "--workers", "argv:./start")
    assert run("optimize", "double", "--out", "run", "--trials", "3", *typed).exit_code == 0
    assert STARTED == ["a", "b", "ssh:box", "argv:./start"]
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.in_flight == 16
    again = run("optimize", "double", "--out", "again", "--trials", "3", "--gpus", "1")
    assert again.exit_code == 0, "what was typed once is agreed to in this folder"
    assert STARTED == ["a", "ssh:box", "argv:./start"]


def test_a_settings_file_alone_starts_no_worker_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Consent in one folder is none in another: a relative command is another program there."""
    text = 'workers = ["argv:./start"]\n'
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernelwright.toml").write_text(text)
    monkeypatch.chdir(tmp_path / "here")
    STARTED[:] = []
    refused = run("optimize", "../double", "--trials", "3")
    assert refused.exit_code == 2
    assert "asks kernelwright to start workers by argv:./start, which was not typed" in refused.stderr
    assert "type --workers argv:./start too" in refused.stderr
    assert run("optimize", "../double", "--trials", "3", "--workers", "argv:./start").exit_code == 0
    STARTED[:] = []
    monkeypatch.chdir(tmp_path / "there")
    assert run("optimize", "../double", "--trials", "3").exit_code == 2
    assert STARTED == []


def test_several_problems_share_the_lanes_and_resume_on_others() -> None:
    Path("second").mkdir()
    for name in ("problem.py", "starter.py"):
        Path("second", name).write_bytes(Path("double", name).read_bytes())
    found = run("optimize", "double", "second", "--out", "all", "--trials", "6", "--gpus", "2")
    assert found.exit_code == 0, found.stderr
    assert STARTED == ["a", "b"]
    with Journal.open(Path("all/second")) as journal:
        assert journal.info.settings.in_flight == 8
    assert run("optimize", "--resume", "all", "--trials", "8", "--workers", "ssh:box").exit_code == 0
    assert STARTED == ["ssh:box"]


def test_python_names_lanes_as_the_command_line_does() -> None:
    for function in (kernelwright.optimize, kernelwright.optimize_all):
        assert set(RunOptions.__struct_fields__) - ONE_PROBLEM <= set(signature(function).parameters)
    with pytest.raises(RequestError, match="'box' is no place"):
        kernelwright.optimize("double", trials=3, workers=["box"])
    with pytest.raises(RequestError, match="is named twice"):
        kernelwright.tune("double", trials=3, workers=["argv:false box", "argv:false box"])


def test_a_gpu_that_is_not_there_is_one_line_and_starts_nothing() -> None:
    result = run("optimize", "double", "--gpus", "9")
    assert result.exit_code == 2
    assert result.stderr == "error: --gpus 9: this machine shows 2 (give fewer)\n"


def test_a_tuning_gets_its_lanes() -> None:
    Path("double/starter.py").write_text(TUNED)
    result = run("tune", "double", "--trials", "4", "--gpus", "2", "--out", "tuned", worker=TuneWorker)
    assert result.exit_code == 0, result.stderr
    assert STARTED == ["a", "b"]


@pytest.mark.parametrize(("flag", "value"), [("--gpus", "2"), ("--workers", "ssh:box")])
def test_a_recorded_space_has_no_workers(flag: str, value: str) -> None:
    result = run("tune", "--recorded", "x.json", flag, value)
    assert result.exit_code == 2
    assert f"{flag} has no meaning with --recorded" in result.stderr
