"""The control arm: equal GPU time, a run of its own, reported beside."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from command_line import PROBLEM, run
from fakes import FakeWorker, evaluation_of
from kernelwright.journal import Journal
from kernelwright.model import Candidate, Evaluation
from kernelwright.search.convergence import gpu_s
from samples import SOURCE


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))
    return tmp_path


def timed(candidate: Candidate, purpose: str) -> Evaluation:
    found = evaluation_of(candidate, purpose)
    return msgspec.structs.replace(found, stages_s={"verify": 1.0, "time": 2.0, "compile": 5.0})


def optimize(*words: str) -> Result:
    settings = ("--out", "run", "--in-flight", "1", "--control", "random")
    return run("optimize", "double", *settings, *words, worker=FakeWorker(answer=timed))


def seconds_of(folder: str) -> float:
    with Journal.open(Path(folder)) as journal:
        return sum(gpu_s(trial.evaluation) for trial in journal.trials() if trial.evaluation is not None)


def test_the_control_arm_takes_as_much_gpu_time_and_stands_beside_in_report_and_document() -> None:
    result = optimize("--trials", "8", "--json")
    assert result.exit_code == 0, result.stderr
    assert (seconds_of("run"), seconds_of("run/control_arm")) == (24.0, 24.0)
    with Journal.open(Path("run/control_arm")) as journal:
        settings = journal.info.settings
        assert (settings.strategy, settings.proposer, settings.budget.gpu_seconds) == ("random", "builtin", 24.0)
        assert settings.proposer_options == {"sampler": "random"}
        operators = {trial.request.operator.value for trial in journal.trials()}
    assert operators == {"seed", "tune"}
    report = Path("run/report.txt").read_text()
    section = report[report.index("Control arm") :]
    assert "8 trials in 24.0 s of GPU time; this run: 8 trials in 24.0 s" in section
    assert "--control random" in section
    assert "this run: 8 trials in 24.0 s" in Path("run/report.html").read_text()
    document = json.loads(result.stdout)["control"]
    assert document["trials"] == 8
    assert document["verdict"] in ("faster", "tie", "slower")


def test_a_resumed_run_gives_its_control_arm_the_time_that_it_took_since() -> None:
    optimize("--trials", "4")
    again = run("optimize", "--resume", "run", "--trials", "7", worker=FakeWorker(answer=timed))
    assert again.exit_code == 0, again.stderr
    assert seconds_of("run/control_arm") == seconds_of("run") == 21.0


def test_a_run_that_waits_has_no_control_arm_yet() -> None:
    waiting = optimize("--trials", "4", "--proposer", "mailbox", "--option", "tuning=0")
    assert "waiting for replies" in waiting.stdout
    assert not Path("run/control_arm").exists()
    assert "Control arm" not in Path("run/report.txt").read_text()


def test_gpu_seconds_are_a_limit_of_their_own() -> None:
    result = run(
        "optimize", "double", "--out", "run", "--in-flight", "1", "--gpu-seconds", "10", worker=FakeWorker(answer=timed)
    )
    assert seconds_of("run") == 9.0
    assert "stopped: 9.0 of 10 GPU seconds, up to 3.0 each" in result.stdout
    assert "--gpu-seconds 20.0" in result.stdout
    assert "budget left: 10.0 of 10 GPU seconds" in result.stderr
