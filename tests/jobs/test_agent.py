"""A session with a coding agent, without the protocol around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.errors import RequestError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.agent import AgentSession

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = {block}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(KERNEL.format(block=64))
    return tmp_path


class Workers:
    """Starts fake workers, and knows how many are alive."""

    def __init__(self) -> None:
        self.started: list[FakeWorker] = []

    @contextmanager
    def start(self, target: str | None) -> Iterator[Worker]:
        self.started.append(FakeWorker())
        try:
            yield self.started[-1]
        finally:
            self.started[-1].close()

    @property
    def alive(self) -> int:
        return sum(not worker.closed for worker in self.started)


def test_replies_are_judged_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    workers, lines = Workers(), list[str]()
    agent = AgentSession(start_worker=workers.start, notify=lines.append)
    state = agent.start("double", 4, None, "beam", None)
    assert state["waiting"] == [1, 2, 3]
    asked = agent.next_request()
    assert asked["number"] == 1
    assert "Twice the input." in asked["prompt"]
    better = agent.submit(1, KERNEL.format(block=512))
    assert (better["status"], better["score_us"]) == ("passed", 100.0)
    state = agent.finish()
    assert (state["over"], state["stopped"]) == (True, "finish was called")
    assert (Path(state["run"]) / "best_kernel.py").is_file()
    assert workers.alive == 1
    agent.close()
    assert workers.alive == 0
    assert lines == []
    assert capfd.readouterr() == ("", "")


def test_a_run_that_is_left_is_closed_and_can_be_opened_again() -> None:
    workers = Workers()
    agent = AgentSession(start_worker=workers.start, notify=lambda line: None)
    first = agent.start("double", 9, None, "beam", None)["run"]
    agent.start("double", 5, None, "beam", None)
    assert (len(workers.started), workers.alive) == (2, 1)
    with pytest.raises(RequestError):
        agent.start("triple", 5, None, "beam", None)
    assert agent.state()["trials"]["limit"] == 5, "a request that is refused leaves the open run alone"
    assert agent.go_on(first)["trials"]["limit"] == 9
    agent.close()
    assert workers.alive == 0
    with pytest.raises(RequestError, match="no run is open"):
        agent.state()
