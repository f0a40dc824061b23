"""`--gpus`: which workers a search and a tuning get, and how many evaluations are under way."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.errors import RequestError
from kernelwright.evaluator.places import Lane
from kernelwright.jobs.worker import StartWorker
from kernelwright.journal import Journal
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


def run(*words: str, worker: type[FakeWorker] = FakeWorker) -> Result:
    def lanes_on(gpus: str | None, workers: Sequence[str] = ()) -> list[Lane]:
        if gpus is None:
            return [Lane(text) for text in workers]
        if gpus == "9":
            raise RequestError("--gpus 9: this machine shows 2", "give fewer")
        return [Lane(name, None) for name in ("a", "b", "c")[: int(gpus)]]

    def workers_on(lanes: list[Lane]) -> StartWorker:
        STARTED[:] = [lane.name for lane in lanes]
        return lambda target: closing(worker())

    def alone(target: str | None) -> closing[FakeWorker]:
        STARTED[:] = []
        return closing(worker())

    return CliRunner().invoke(cli, words, obj=Parts(start_worker=alone, lanes_on=lanes_on, workers_on=workers_on))


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
    assert run("optimize", "--resume", "run", "--trials", "4", "--gpus", "1").exit_code == 0
    assert STARTED == ["a"]


def test_a_settings_file_decides_how_many_are_under_way() -> None:
    Path("kernelwright.toml").write_text("in_flight = 3\n")
    assert run("optimize", "double", "--out", "run", "--trials", "3", "--gpus", "2").exit_code == 0
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.in_flight == 3


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
