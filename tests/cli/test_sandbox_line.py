"""What commands, reports and tools say of the sandbox, and where they refuse to run a candidate."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT, FakeWorker
from kernelwright.api.search import optimize
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.worker import Desk
from samples import SOURCE
from started import starting

LINE = "in force, without user_namespace, process_limit"
WHERE = msgspec.structs.replace(ENVIRONMENT, sandbox=LINE)
REFUSAL = "no candidate runs on this machine, because its code could read a file (--weak-sandbox allows it)"
WEAK = msgspec.structs.replace(ENVIRONMENT, sandbox="WEAK", refusal=REFUSAL)
KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = 64\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(KERNEL)
    return tmp_path


def test_a_search_says_it_and_so_do_its_report_and_its_page() -> None:
    found = run("optimize", "double", "--trials", "2", "--out", "run", worker=FakeWorker(where=WHERE))
    assert f"sandbox: {LINE}" in found.stderr.splitlines()
    again = run("optimize", "--resume", "run", "--trials", "3", worker=FakeWorker(where=WHERE))
    assert f"sandbox: {LINE}" in again.stderr.splitlines()
    assert any(line.split() == ["sandbox", *LINE.split()] for line in Path("run/report.txt").read_text().splitlines())
    assert LINE in Path("run/report.html").read_text()


def test_the_python_api_says_it() -> None:
    lines: list[str] = []
    optimize("double", trials=1, out="run", start_worker=starting(FakeWorker(where=WHERE)), notify=lines.append)
    assert f"sandbox: {LINE}" in lines


def test_a_verification_a_bench_and_a_tuning_say_it() -> None:
    Path("kernel.py").write_text(KERNEL)
    assert LINE in run("verify", "double", "kernel.py", worker=FakeWorker(where=WHERE)).stdout
    assert LINE in run("bench", "double", "kernel.py", worker=FakeWorker(where=WHERE)).stdout
    Path("kernel.py").write_text(SOURCE)
    tuned = run("tune", "double", "kernel.py", "--trials", "1", worker=FakeWorker(where=WHERE))
    assert f"; sandbox: {LINE}" in tuned.stderr


def test_an_agent_is_told() -> None:
    agent = AgentSession(Desk(lambda line: None, starting(FakeWorker(where=WHERE))))
    assert agent.start("double", trials=1)["sandbox"] == LINE
    agent.close()


@pytest.mark.parametrize("words", [("optimize", "double", "--out", "run"), ("optimize", "--resume", "begun")])
def test_no_search_begins_where_no_candidate_may_run(words: tuple[str, ...]) -> None:
    assert run("optimize", "double", "--trials", "1", "--out", "begun").exit_code == 0
    worker = FakeWorker(where=WEAK)
    assert REFUSAL in fault(run(*words, worker=worker))
    assert worker.calls == []
    assert not Path("run").exists()


def test_doctor_judges_no_canary_there_and_says_why() -> None:
    worker = FakeWorker(where=WEAK)
    found = run("doctor", worker=worker)
    assert found.exit_code == 0
    assert worker.calls == []
    assert f"No canary was judged: {REFUSAL}." in found.stdout
    assert "Every canary" not in found.stdout


def test_a_settings_file_cannot_allow_it() -> None:
    Path("kernelwright.toml").write_text("weak_sandbox = true\n")
    assert "there is no field 'weak_sandbox'" in fault(run("optimize", "double"))
