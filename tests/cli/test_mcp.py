"""`mcp`: an agent drives a run through a real client of the protocol, over standard input and output.

The worker is fake, the server and the client are not. The rule: only what the agent sees, and the run's journal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import PROBLEM, run
from kernelwright.journal import Journal
from kernelwright.model import Budget
from kernelwright.report.view import read_run
from kernelwright.run import is_paused, pause

pytest.importorskip("mcp", reason="the MCP server needs mcp: pip install -e '.[mcp]'")

TESTS = Path(__file__).parent.parent
KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = {block}\n"
Call = Callable[..., Awaitable[Any]]


def drive(folder: Path, use: Callable[[Call], Awaitable[None]], *words: str) -> None:
    """Start a server in `folder`, connect a client to it and let `use` call its tools."""
    import anyio
    from mcp import StdioServerParameters
    from mcp.client import Client

    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    script = words or (str(Path(__file__).with_name("serving.py")),)
    started = StdioServerParameters(
        command=sys.executable, args=list(script), cwd=str(folder), env={**os.environ, "PYTHONPATH": path}
    )

    async def main() -> None:
        async with Client(started) as client:

            async def call(tool: str, **given: Any) -> Any:
                answer = await client.call_tool(tool, given)
                text = "".join(part.text for part in answer.content if part.type == "text")
                if answer.is_error:
                    raise RuntimeError(text)
                found = answer.structured_content
                return found.get("result", found) if isinstance(found, dict) else text

            call.client = client  # type: ignore[attr-defined]
            await use(call)

    anyio.run(main)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    problem = tmp_path / "gallery" / "double"
    problem.mkdir(parents=True)
    (problem / "problem.py").write_text(f'"""Twice the input."""\n\n{PROBLEM}')
    (problem / "starter.py").write_text(KERNEL.format(block=64))
    (tmp_path / "kernelwright.toml").write_text("[option]\ntuning = 0\n")
    return tmp_path


def test_an_agent_drives_a_run_from_the_first_prompt_to_the_kernel_that_stands(home: Path) -> None:
    folder: list[str] = []

    async def use(call: Call) -> None:
        (problem,) = await call("list_problems")
        assert (problem["name"], problem["about"]) == ("double", "Twice the input.")
        state = await call("start_run", problem="double", trials=4)
        folder.append(state["run"])
        assert state["trials"] == {"finished": 1, "limit": 4}
        assert state["waiting"] == [1, 2, 3]
        asked = await call("next_request")
        assert asked["number"] == 1
        assert "Twice the input." in asked["prompt"]
        better = await call("submit", number=1, reply=KERNEL.format(block=512))
        assert (better["status"], better["score_us"]) == ("passed", 100.0)
        assert better["state"]["waiting"] == [2, 3]
        markdown = f"Note: worse on purpose.\n\n```python\n{KERNEL.format(block=32)}```\n"
        worse = await call("submit", number=2, reply=markdown)
        assert "worse on purpose" in worse["text"]
        broken = await call("submit", number=3, reply=KERNEL.format(block=128) + "# fails: wrong\n")
        assert broken["status"] == "wrong"
        state = broken["state"]
        assert state["over"] is True
        assert "trial 1" in state["verdict"]
        assert len((await call("history")).splitlines()) >= 5
        assert (await call("verdict", trial=1))["status"] == "passed"
        assert Path(home, state["best_kernel"]).read_text().count("BLOCK = 512") == 1

    drive(home, use)
    with Journal.open(home / folder[0]) as journal:
        view = read_run(journal)
    assert view.best is not None
    assert view.best.proposal.author.startswith("mailbox")
    assert list(view.confirmed) == [1]


def test_without_limits_a_run_has_those_of_the_settings_file_else_the_defaults_of_optimize(home: Path) -> None:
    async def use(call: Call) -> None:
        assert (await call("start_run", problem="double"))["trials"]["limit"] == 40
        (home / "kernelwright.toml").write_text('problem = "double"\ntrials = 7\n')
        assert (await call("start_run"))["trials"]["limit"] == 7
        (home / "kernelwright.toml").write_text("trails = 7\n")
        with pytest.raises(RuntimeError, match="did you mean trials"):
            await call("start_run", problem="double")

    drive(home, use)


def test_a_run_is_left_gone_on_with_and_ended_early(home: Path) -> None:
    async def begin(call: Call) -> None:
        folder.append((await call("start_run", problem="double", trials=20))["run"])

    async def end(call: Call) -> None:
        (line,) = await call("list_runs")
        assert line["run"] == Path(folder[0]).name
        state = await call("open_run", folder=folder[0])
        waits = state["waiting"]
        assert waits
        await call("submit", number=waits[-1], reply=KERNEL.format(block=256))
        state = await call("finish")
        assert (state["over"], state["stopped"]) == (True, "finish was called")
        assert state["trials"]["limit"] == 20
        assert state["waiting"] == []
        assert "confirmed" in state["verdict"]
        assert Path(home, state["best_kernel"]).is_file()

    folder: list[str] = []
    drive(home, begin)
    drive(home, end)


def test_a_run_that_the_command_line_began_ends_with_its_control_arm(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def end(call: Call) -> None:
        await call("open_run", folder="run")
        state = await call("finish")
        assert state["over"] is True

    monkeypatch.chdir(home)
    words = ("--proposer", "mailbox", "--option", "tuning=0", "--trials", "20", "--control", "random", "--out", "run")
    assert run("optimize", "double", *words).exit_code == 0
    assert not Path("run/control_arm").exists(), "it waits for replies"
    drive(home, end)
    with Journal.open(Path("run/control_arm")) as journal:
        assert journal.trials()
    assert "Control arm" in Path("run/report.txt").read_text()


def test_a_run_is_taken_up_as_its_last_session_left_it_and_not_paused(home: Path) -> None:
    folder: list[str] = []

    async def begin(call: Call) -> None:
        folder.append((await call("start_run", problem="double", trials=20))["run"])

    async def open_again(call: Call) -> None:
        state = await call("open_run", folder=folder[0])
        assert state["trials"]["limit"] == 9

    drive(home, begin)
    with Journal.open(home / folder[0], writable=True) as journal:
        journal.append_started(Budget(trials=9))
        journal.append_stopped("interrupted", 1.0)
        pause(journal.folder)
    drive(home, open_again)
    assert not is_paused(home / folder[0])


def test_what_cannot_be_done_is_said_and_what_passed_is_profiled(home: Path) -> None:
    async def use(call: Call) -> None:
        with pytest.raises(RuntimeError, match="no run is open"):
            await call("next_request")
        with pytest.raises(RuntimeError, match="no problem at 'triple'"):
            await call("start_run", problem="triple")
        await call("start_run", problem="double", trials=3)
        with pytest.raises(RuntimeError, match="defines neither ModelNew nor kernel_function"):
            await call("submit", number=1, reply="print('hello')\n")
        with pytest.raises(RuntimeError, match="request 9"):
            await call("submit", number=9, reply=KERNEL.format(block=8))
        with pytest.raises(RuntimeError, match="trial 7 is not finished"):
            await call("verdict", trial=7)
        assert (await call("state"))["waiting"] == [1, 2]
        assert "trial 0, case big" in await call("profile", trial=0)
        await call("submit", number=1, reply=KERNEL.format(block=8) + "# fails: wrong\n")
        with pytest.raises(RuntimeError, match="did not pass"):
            await call("profile", trial=1)

    drive(home, use)


def test_the_verb_serves_the_same_tools_and_says_what_each_is_for(home: Path) -> None:
    async def use(call: Call) -> None:
        listed = await call.client.list_tools()  # type: ignore[attr-defined]
        tools = {tool.name: tool.description for tool in listed.tools}
        assert {"list_problems", "start_run", "next_request", "submit", "verdict", "profile", "history"} <= set(tools)
        assert all(tools.values())

    drive(home, use, "-m", "kernelwright", "mcp")


def test_the_verb_needs_no_terminal_to_say_what_it_is() -> None:
    assert "Serve runs to a coding agent over MCP." in run("mcp", "--help").stdout
