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
from kernelwright.jobs.optimize import optimize
from kernelwright.jobs.settings import read_settings
from kernelwright.journal import Journal
from kernelwright.model import RunSettings
from started import starting

PROMPTS_ONLY = {"tuning": 0}
"""Of the strategy: no trial is spent on tuning a kernel."""

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = {block}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text(KERNEL.format(block=64))
    return tmp_path


def silent(line: str) -> None:
    """Nobody reads the messages."""


def settings_of(folder: Path) -> RunSettings:
    with Journal.open(folder) as journal:
        return journal.info.settings


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
    state = agent.start("double", trials=4, option=PROMPTS_ONLY)
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
    agent = AgentSession(start_worker=workers.start, notify=silent)
    first = agent.start("double", trials=9)["run"]
    agent.start("double", trials=5)
    assert (len(workers.started), workers.alive) == (2, 1)
    with pytest.raises(RequestError):
        agent.start("triple", trials=5)
    assert agent.state()["trials"]["limit"] == 5, "a request that is refused leaves the open run alone"
    assert agent.go_on(first)["trials"]["limit"] == 9
    agent.close()
    assert workers.alive == 0
    with pytest.raises(RequestError, match="no run is open"):
        agent.state()


def test_an_agent_s_run_has_the_settings_of_the_same_run_of_optimize() -> None:
    agent = AgentSession(start_worker=starting(), notify=silent)
    begun = Path(agent.start("double")["run"])
    agent.close()
    same = optimize("double", proposer="mailbox", start_worker=starting(), notify=silent)
    assert settings_of(begun) == settings_of(same.folder)


def test_an_agent_s_run_takes_the_settings_file_but_stays_the_agent_s() -> None:
    Path("kernelwright.toml").write_text(
        'problem = "double"\nproposer = "builtin"\ntrials = 9\nseed = 3\nout = "here"\n[option]\nwidth = 2\n'
    )
    agent = AgentSession(start_worker=starting(), notify=silent)
    state = agent.start(settings=read_settings(None, silent), trials=6)
    agent.close()
    settings = settings_of(Path("here"))
    assert (state["run"], state["trials"]["limit"]) == ("here", 6)
    assert (settings.proposer, settings.seed, settings.strategy_options["width"]) == ("mailbox", 3, 2)


def test_what_only_the_settings_file_names_is_not_used_as_nobody_can_be_asked(folder: Path) -> None:
    Path("kernelwright.toml").write_text(f'lessons = "{folder.parent / "cards"}"\n')
    agent = AgentSession(start_worker=starting(), notify=silent)
    with pytest.raises(RequestError, match="which nobody typed"):
        agent.start("double", settings=read_settings(None, silent))
