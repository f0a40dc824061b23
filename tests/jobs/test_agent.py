"""A session with a coding agent, without the protocol around it."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from fakes import PROBLEM as PROBLEM_INFO
from kernelwright.errors import ProblemError, RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.background import Background
from kernelwright.jobs.optimize import optimize
from kernelwright.jobs.runs import QUALIFYING, READING, STARTING
from kernelwright.jobs.settings import read_settings
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Journal
from kernelwright.model import Candidate, Evaluation, RunSettings
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


def test_a_problem_of_which_nothing_can_be_verified_here_is_refused_with_the_lines_to_add() -> None:
    timed = msgspec.structs.replace(PROBLEM_INFO, cases=tuple(one for one in PROBLEM_INFO.cases if one.case.timed))
    worker = FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, device=None), problem=timed)
    agent = AgentSession(Desk(silent, starting(worker)))
    with pytest.raises(ProblemError, match="nothing of double can be verified here") as raised:
        agent.start("double", trials=2)
    assert "double.cases.json" in str(raised.value.hint) or "problem.cases.json" in str(raised.value.hint)
    assert worker.closed
    assert not Path("runs").exists()
    with pytest.raises(RequestError, match="no run is open"):
        agent.state()


def settled(agent: AgentSession) -> dict[str, Any]:
    """What the agent hears once nothing is under way."""
    assert agent.is_idle(60)
    return agent.news()


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
    agent = AgentSession(Desk(lines.append, workers.start))
    agent.start("double", trials=4, option=PROMPTS_ONLY)
    assert settled(agent)["state"]["waiting"] == [1]
    asked = agent.next_request()
    assert asked["number"] == 1
    assert "Twice the input." in asked["prompt"]
    assert "<!--" not in asked["prompt"]
    assert "Write the answer to" not in asked["prompt"]
    agent.submit(1, KERNEL.format(block=512))
    found = settled(agent)
    (better,) = found["verdicts"]
    assert (better["trial"], better["status"], better["score_us"]) == (1, "passed", 100.0)
    assert "source" not in str(better)
    assert found["state"]["waiting"] == [2]
    again = agent.next_request()["prompt"]
    assert again.startswith("The rules and the problem are the same as in the first prompt")
    assert "# Make `double` faster" in again
    assert "Twice the input." not in again
    whole = agent.next_request(whole=True)["prompt"]
    assert whole.endswith(again.partition("\n\n")[2])
    assert whole.partition("\n\n---\n\n")[0] == asked["prompt"].partition("\n\n---\n\n")[0]
    agent.finish()
    state = settled(agent)["state"]
    assert (state["over"], state["stopped"]) == (True, "finish was called")
    withdrawn = agent.verdict(2)
    assert withdrawn["status"] == "no_candidate"
    assert "withdrawn: the run was ended before this request was answered" in withdrawn["text"]
    assert "block" not in withdrawn["text"]
    assert (Path(state["run"]) / "best_kernel.py").is_file()
    assert workers.alive == 1
    agent.close()
    assert workers.alive == 0
    assert lines == [f"double: {STARTING}", READING, QUALIFYING, "double: measuring the best beside PyTorch"]
    assert capfd.readouterr() == ("", "")


def test_a_run_that_is_left_is_closed_and_can_be_opened_again() -> None:
    workers = Workers()
    agent = AgentSession(Desk(silent, workers.start))
    first = agent.start("double", trials=9)["run"]
    settled(agent)
    agent.start("double", trials=5)
    assert (len(workers.started), workers.alive) == (2, 1)
    with pytest.raises(RequestError):
        agent.start("triple", trials=5)
    assert agent.state()["trials"]["limit"] == 5, "a request that is refused leaves the open run alone"
    settled(agent)
    assert agent.go_on(first)["trials"]["limit"] == 9
    agent.close()
    assert workers.alive == 0
    with pytest.raises(RequestError, match="no run is open"):
        agent.state()


def test_an_agent_s_run_has_the_settings_of_the_same_run_of_optimize() -> None:
    agent = AgentSession(Desk(silent, starting()))
    begun = Path(agent.start("double")["run"])
    agent.close()
    same = optimize("double", proposer="mailbox", option={"width": 1}, desk=Desk(silent, starting()))
    assert settings_of(begun) == settings_of(same.folder)


def test_an_agent_s_run_takes_the_settings_file_but_stays_the_agent_s() -> None:
    Path("kernelwright.toml").write_text(
        'problem = "double"\nproposer = "builtin"\ntrials = 9\nseed = 3\nout = "here"\n[option]\nwidth = 2\n'
    )
    agent = AgentSession(Desk(silent, starting()))
    state = agent.start(settings=read_settings(None, silent), trials=6)
    agent.close()
    settings = settings_of(Path("here"))
    assert (state["run"], state["trials"]["limit"]) == ("here", 6)
    assert (settings.proposer, settings.seed, settings.strategy_options["width"]) == ("mailbox", 3, 2)


def test_what_only_the_settings_file_names_is_not_used_as_nobody_can_be_asked(folder: Path) -> None:
    Path("kernelwright.toml").write_text(f'lessons = "{folder.parent / "cards"}"\n')
    agent = AgentSession(Desk(silent, starting()))
    with pytest.raises(RequestError, match="which was not typed"):
        agent.start("double", settings=read_settings(None, silent))


class SlowWorker(FakeWorker):
    """Judges a candidate only once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_judge = threading.Event()

    def evaluate(self, candidate: Candidate, *given: Any, **named: Any) -> Evaluation:
        assert self.may_judge.wait(600)
        return super().evaluate(candidate, *given, **named)


def test_while_a_kernel_is_judged_the_session_answers_at_once() -> None:
    worker = SlowWorker()
    agent = AgentSession(Desk(silent, starting(worker)))
    state = agent.start("double", trials=3, option=PROMPTS_ONLY)
    assert (state["doing"], state["over"]) == ("beginning the search", False)
    assert state["what_now"] == "wait gives the result"
    assert not agent.is_idle(0.01)
    assert agent.news()["verdicts"] == []
    assert agent.state()["trials"]["finished"] == 0
    assert agent.progress.startswith("beginning the search")
    with pytest.raises(RequestError, match="the open run is at work"):
        agent.start("double")
    with pytest.raises(RequestError, match="trial 0 is not finished"):
        agent.profile(0)
    worker.may_judge.set()
    found = settled(agent)
    assert [one["trial"] for one in found["verdicts"]] == [0]
    worker.may_judge.clear()
    submitted = agent.submit(1, KERNEL.format(block=512))
    assert submitted["doing"] == "judging the reply to request 1"
    with pytest.raises(RequestError, match="the worker is at work"):
        agent.profile(0)
    worker.may_judge.set()
    assert [one["trial"] for one in settled(agent)["verdicts"]] == [1]
    assert settled(agent)["verdicts"] == [], "each is given once"
    agent.close()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("# fails: rejected\n", "the source says that it fails: rejected"),
        ("# fails: compile_error\n", "the source says that it fails: compile_error"),
        ("# another comment\n", "the code is the same as that of trial 0"),
    ],
)
def test_what_would_fail_before_it_runs_is_refused_and_costs_no_trial(more: str, why: str) -> None:
    agent = AgentSession(Desk(silent, starting()))
    agent.start("double", trials=3, option=PROMPTS_ONLY)
    settled(agent)
    module = KERNEL.format(block=64 if "comment" in more else 32) + more
    for reply in (module, f"```python\n{module}```\n"):
        with pytest.raises(RequestError, match=f"no trial was spent: {why}"):
            agent.submit(1, reply)
    assert settled(agent)["verdicts"] == []
    assert agent.state()["waiting"] == [1]
    agent.submit(1, KERNEL.format(block=32) + "# fails: wrong\n")
    assert [one["status"] for one in settled(agent)["verdicts"]] == ["wrong"]
    agent.close()


def test_a_prompt_that_waits_has_the_results_of_the_others_and_says_what_is_true_of_them() -> None:
    agent = AgentSession(Desk(silent, starting()))
    agent.start("double", trials=5, option=PROMPTS_ONLY, at_once=3)
    assert settled(agent)["state"]["waiting"] == [1, 2, 3]
    assert "| 1 |" not in agent.next_request(3)["prompt"]
    assert "Others are changing this kernel" in agent.next_request(3)["prompt"]
    for number, block in ((1, 512), (2, 256)):
        agent.submit(number, KERNEL.format(block=block))
        settled(agent)
    prompt = agent.next_request(3)["prompt"]
    assert "| 1 | improve | 0 |" in prompt
    assert "| 2 | improve | 0 |" in prompt
    assert "Others are changing this kernel" not in prompt
    agent.close()


def test_one_request_at_a_time_starts_from_the_newest_best_kernel() -> None:
    agent = AgentSession(Desk(silent, starting()))
    agent.start("double", trials=5)
    for number, block in enumerate((128, 512), start=1):
        (request,) = settled(agent)["state"]["waiting"]
        prompt = agent.next_request()["prompt"]
        assert "Others are changing this kernel" not in prompt
        if number == 2:
            best = min(agent._view().trials, key=lambda trial: trial.score_us or math.inf)
            assert best.proposal.candidate is not None
            assert f"## The kernel to improve (trial {best.number})" in prompt
            assert best.number > 0
        agent.submit(request, KERNEL.format(block=block))
    agent.close()


def test_a_reply_that_does_not_parse_is_refused_with_its_line_and_still_waits() -> None:
    agent = AgentSession(Desk(silent, starting()))
    agent.start("double", trials=3, option=PROMPTS_ONLY)
    settled(agent)
    broken = KERNEL.format(block=8) + "\ndef f(:\n    pass\n"
    for reply in (broken, f"Note: mended.\n\n```python\n{broken}```\n"):
        with pytest.raises(RequestError, match="does not parse as Python at line 7"):
            agent.submit(1, reply)
    assert agent.state()["waiting"] == [1]
    agent.close()


def test_what_ends_the_search_is_raised_once_where_the_agent_asks() -> None:
    worker = SlowWorker()
    worker.evaluate = failing  # type: ignore[method-assign]
    agent = AgentSession(Desk(silent, starting(worker)))
    agent.start("double", trials=3)
    assert agent.is_idle(60)
    with pytest.raises(WorkerError, match="the worker is gone"):
        agent.news()
    state = agent.state()
    assert (state["doing"], state["over"]) == (None, False)
    assert state["what_now"] == f"the last search failed: open_run with {state['run']} goes on with it"
    agent.close()


def test_a_reply_cannot_start_a_search_in_a_run_that_is_being_left(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = AgentSession(Desk(silent, starting()))
    agent.start("double", trials=3, option=PROMPTS_ONLY)
    settled(agent)
    is_idle, answers = Background.is_idle, list[object]()

    def submit() -> None:
        try:
            answers.append(agent.submit(1, KERNEL.format(block=512)))
        except RequestError as error:
            answers.append(str(error).partition(" (")[0])

    submitting = threading.Thread(target=submit)

    def is_idle_then_a_reply_comes(self: Background, within_s: float) -> bool:
        idle = is_idle(self, within_s)
        submitting.start()
        submitting.join(1)  # Without the rule it is over at once; with it, it waits until the run is closed.
        return idle

    with monkeypatch.context() as changed:
        changed.setattr(Background, "is_idle", is_idle_then_a_reply_comes)
        with pytest.raises(RequestError):
            agent.go_on("runs/none")
    submitting.join()
    assert answers == ["no run is open"]
    agent.close()


def failing(*given: Any, **named: Any) -> Evaluation:
    raise WorkerError("the worker is gone")
