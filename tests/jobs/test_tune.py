"""`tune` and `replay` as Python functions: a record comes back, files are written, and nothing is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import PROBLEM
from kernelwright.errors import ConfigError, RequestError
from kernelwright.jobs.advice import choose_advisor
from kernelwright.jobs.tune import DEFAULT_TRIALS, Begin, replay, tune
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading
from kernelwright.spaces.recorded import save
from kernelwright.tune import Settings
from started import starting
from tuned import BEST, SOURCE, TuneWorker, recorded_space

SPACE_FILE = '[parameters]\nBLOCK = [32, 64, 128, 256, 512]\n"k.num_warps" = [1, 2, 4, 8]\n'


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE)
    Path("space.toml").write_text(SPACE_FILE)
    return tmp_path


def silent(line: str) -> None:
    """Nobody reads the messages."""


def test_the_best_config_comes_back_with_its_folder(capfd: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    found = tune("double", space="space.toml", desk=Desk(lines.append, starting(TuneWorker())))
    assert found.folder.parent == Path("tuned")
    assert found.outcome is not None
    assert found.outcome.joint is not None
    assert found.outcome.joint.config == BEST
    assert found.outcome.settings.trials == DEFAULT_TRIALS
    assert {file.name for file in found.folder.iterdir()} == {
        "best_config.json", "configs.py", "history.csv", "report.txt", "t4.json",
    }  # fmt: skip
    assert lines[0] == f"results: {found.folder}; device: Fake GPU"
    assert capfd.readouterr() == ("", "")


def test_limits_cases_and_dtype_are_those_that_were_given() -> None:
    worker = TuneWorker()
    found = tune(
        Path("double"),
        "double/starter.py",
        Settings(trials=3, sampler="random"),
        loading=Loading(dtype="float16", cases=("big",)),
        space=Path("space.toml"),
        out="out",
        desk=Desk(silent, starting(worker)),
    )
    assert found.outcome is not None
    assert found.outcome.settings.trials == 3
    assert found.folder == Path("out")
    assert worker.loaded == [("float16", ("big",), True)]


def test_a_recorded_space_is_replayed_without_a_worker(capfd: pytest.CaptureFixture[str]) -> None:
    save(recorded_space(), Path("double.json.gz"))
    found = replay("double.json.gz", Settings(trials=5), problem="double", notify=silent)
    assert found.outcome is not None
    assert found.outcome.kind == "replayed"
    with pytest.raises(RequestError, match="a record of double, not of softmax"):
        replay("double.json.gz", problem="softmax", notify=silent)
    with pytest.raises(RequestError, match="no recorded space at 'none'"):
        replay("none", notify=silent)
    assert capfd.readouterr() == ("", "")


def test_an_advisor_s_answer_may_come_later_and_is_then_used() -> None:
    mailbox = choose_advisor("mailbox", {})
    waiting = tune(
        "double", space="space.toml", out="out", begin=Begin(advisor=mailbox), desk=Desk(silent, starting(TuneWorker()))
    )
    assert waiting.outcome is None
    (waiting.folder / "advice.reply.md").write_text(json.dumps([{"BLOCK": 256, "num_warps": 8}]))
    found = tune(
        "double", space="space.toml", out="out", begin=Begin(advisor=mailbox), desk=Desk(silent, starting(TuneWorker()))
    )
    assert found.outcome is not None
    assert found.outcome.advice is not None
    assert found.outcome.advice.configs == (BEST,)


def test_a_sampler_that_does_not_exist_is_refused_before_a_worker_starts() -> None:
    def start(target: str | None) -> None:
        raise AssertionError("a worker was started")

    with pytest.raises(ConfigError, match="no sampler 'annealing'"):
        tune("double", settings=Settings(sampler="annealing"), desk=Desk(silent, start))  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="model is for an advisor, and none is named"):
        choose_advisor(None, {}, model="small")
