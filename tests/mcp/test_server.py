"""An agent drives a run through a real client of the protocol, over standard input and output.

The worker is fake, the server and the client are not. The rule: only what the agent sees, and the run's journal.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import kernelwright
from command_line import PROBLEM, run
from kernelwright.interruption import STOP
from kernelwright.journal import Journal
from kernelwright.model import Budget
from kernelwright.report.view import read_run
from kernelwright.run import is_paused, pause

pytest.importorskip("mcp.server", reason="the MCP server needs mcp: pip install -e '.[mcp]'")

TESTS = Path(__file__).parent.parent
KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = {block}\n"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "gone", "version": "1"}}
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


async def settled(call: Call) -> Any:
    """What `wait` says once nothing is under way."""
    while True:
        found = await call("wait")
        if found["state"]["doing"] is None:
            return found


def test_an_agent_drives_a_run_from_the_first_prompt_to_the_confirmed_kernel(home: Path) -> None:
    folder: list[str] = []

    async def use(call: Call) -> None:
        problem = next(one for one in await call("list_problems") if one["name"] == "double")
        assert (problem["name"], problem["about"]) == ("double", "Twice the input.")
        folder.append((await call("start_run", problem="double", trials=4))["run"])
        state = (await settled(call))["state"]
        assert state["trials"] == {"finished": 1, "limit": 4}
        assert state["waiting"] == [1]
        asked = await call("next_request")
        assert asked["number"] == 1
        assert "Twice the input." in asked["prompt"]
        assert "kernelwright reply" not in asked["prompt"]
        assert (await call("submit", number=1, reply=KERNEL.format(block=512)))["submitted"] == 1
        (better,) = (await settled(call))["verdicts"]
        assert (better["status"], better["score_us"]) == ("passed", 100.0)
        markdown = f"Note: worse on purpose.\n\n```python\n{KERNEL.format(block=32)}```\n"
        await call("submit", number=2, reply=markdown)
        (worse,) = (await settled(call))["verdicts"]
        assert worse["why"].startswith("5.00 times slower than trial 1, its parent and the best of the others. ")
        await call("submit", number=3, reply=KERNEL.format(block=128) + "# fails: wrong\n")
        found = await settled(call)
        assert [one["status"] for one in found["verdicts"]] == ["wrong"]
        state = found["state"]
        assert state["over"] is True
        assert "trial 1" in state["verdict"]
        assert len((await call("history")).splitlines()) >= 5
        assert "source:" in (await call("verdict", trial=1))["text"]
        assert Path(home, state["best_kernel"]).read_text().count("BLOCK = 512") == 1

    drive(home, use)
    with Journal.open(home / folder[0]) as journal:
        view = read_run(journal)
    assert view.best is not None
    assert view.best.proposal.author.startswith("mailbox")
    assert list(view.confirmed) == [1]


def test_start_run_can_turn_tuning_off(home: Path) -> None:
    (home / "kernelwright.toml").unlink()
    folder: list[str] = []

    async def use(call: Call) -> None:
        for given in ({"tuning": 0}, {}):
            folder.append((await call("start_run", problem="double", trials=4, **given))["run"])
            await settled(call)

    drive(home, use)
    tuning = []
    for run_folder in folder:
        with Journal.open(home / run_folder) as journal:
            tuning.append(journal.info.settings.strategy_options["tuning"])
    assert tuning == [0, 4]


def test_without_limits_a_run_has_those_of_the_settings_file_else_the_defaults_of_optimize(home: Path) -> None:
    async def use(call: Call) -> None:
        assert (await call("start_run", problem="double"))["trials"]["limit"] == 40
        await settled(call)
        (home / "kernelwright.toml").write_text('problem = "double"\ntrials = 7\n')
        assert (await call("start_run"))["trials"]["limit"] == 7
        await settled(call)
        run = (await call("start_run", library="any"))["run"]
        with Journal.open(home / run) as journal:
            assert journal.info.problem.library == "any"
        await settled(call)
        (home / "kernelwright.toml").write_text("trails = 7\n")
        with pytest.raises(RuntimeError, match="did you mean trials"):
            await call("start_run", problem="double")

    drive(home, use)


def test_a_run_is_left_gone_on_with_and_ended_early(home: Path) -> None:
    async def begin(call: Call) -> None:
        folder.append((await call("start_run", problem="double", trials=20, requests_at_once=3))["run"])
        assert (await settled(call))["state"]["waiting"] == [1, 2, 3]

    async def end(call: Call) -> None:
        (line,) = await call("list_runs")
        assert line["run"] == Path(folder[0]).name
        await call("open_run", folder=folder[0])
        waits = (await settled(call))["state"]["waiting"]
        assert waits == [1, 2, 3]
        await call("submit", number=waits[-1], reply=KERNEL.format(block=256))
        assert (await call("finish"))["over"] is False
        state = (await settled(call))["state"]
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
        await call("finish")
        assert (await settled(call))["state"]["over"] is True

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
        await settled(call)

    async def open_again(call: Call) -> None:
        state = await call("open_run", folder=folder[0])
        assert state["trials"]["limit"] == 9
        await settled(call)

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
        await settled(call)
        with pytest.raises(RuntimeError, match="defines neither ModelNew nor kernel_function"):
            await call("submit", number=1, reply="print('hello')\n")
        with pytest.raises(RuntimeError, match="request 9"):
            await call("submit", number=9, reply=KERNEL.format(block=8))
        with pytest.raises(RuntimeError, match="trial 7 is not finished"):
            await call("verdict", trial=7)
        with pytest.raises(RuntimeError, match="does not parse as Python at line 3"):
            await call("submit", number=1, reply="class ModelNew:\n    pass\ndef f(:\n")
        assert (await call("state"))["waiting"] == [1]
        assert "trial 0, case big" in await call("profile", trial=0)
        await call("submit", number=1, reply=KERNEL.format(block=8) + "# fails: wrong\n")
        await settled(call)
        with pytest.raises(RuntimeError, match="did not pass"):
            await call("profile", trial=1)

    drive(home, use)


def named_in_skill() -> set[str]:
    """The tools that the package's SKILL.md names: its code phrases that look like one. The others are of Python, of
    problems or of results."""
    skill = (Path(kernelwright.__file__).with_name("SKILL.md")).read_text(encoding="utf-8")
    words = set(re.findall(r"`([a-z_]+)`", skill))
    return words - {"get_inputs", "get_init_inputs", "kernel_function", "mine", "qualifies", "wrong", "not_verified"}


def test_the_verb_serves_the_same_tools_and_says_what_each_is_for(home: Path) -> None:
    async def use(call: Call) -> None:
        listed = await call.client.list_tools()  # type: ignore[attr-defined]
        tools = {tool.name: tool for tool in listed.tools}
        reading = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        assert reading == {
            "list_problems", "list_runs", "state", "history", "verdict", "profile", "next_request", "wait",
        }  # fmt: skip
        assert set(tools) - reading == {
            "start_run", "open_run", "submit", "finish", "write_problem", "check_problem", "verify", "bench", "export",
        }  # fmt: skip
        assert all(tool.description for tool in tools.values())
        assert named_in_skill() == set(tools)
        assert not any(tool.annotations.open_world_hint for tool in tools.values())

    drive(home, use, "-m", "kernelwright", "mcp")


def test_progress_is_notified_while_something_is_under_way(home: Path) -> None:
    async def use(call: Call) -> None:
        heard: list[str | None] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append(message)

        await call("start_run", problem="double", trials=3)
        await call.client.call_tool("wait", {}, progress_callback=hear)  # type: ignore[attr-defined]
        assert heard
        assert str(heard[0]).startswith("beginning the search")

    drive(home, use, str(Path(__file__).with_name("serving.py")), "slow")


def test_a_problem_is_written_and_checked_and_a_kernel_verified_timed_and_exported_without_a_run(home: Path) -> None:
    async def use(call: Call) -> None:
        made = await call("write_problem", file="problems/mine/problem.py", text=PROBLEM)
        assert made["file"] == "problems/mine/problem.py"
        assert Path(home, "problems/mine/problem.py").read_text() == PROBLEM
        with pytest.raises(RuntimeError, match="exists already"):
            await call("write_problem", file="problems/mine/problem.py", text=PROBLEM)
        with pytest.raises(RuntimeError, match="does not parse as Python at line 1"):
            await call("write_problem", file="problems/other.py", text="def f(:\n")
        assert (await call("check_problem", problem="mine"))["qualifies"] is True
        judged = await call("verify", problem="mine", source=KERNEL.format(block=64))
        assert judged["status"] == "passed"
        judged = await call("verify", problem="mine", source=KERNEL.format(block=64) + "# fails: wrong\n")
        assert judged["status"] == "wrong"
        with pytest.raises(RuntimeError, match="a file or a source"):
            await call("verify", problem="mine")
        Path(home, "kernel.py").write_text(KERNEL.format(block=64))
        assert "kernel" in await call("bench", problem="mine", files=["kernel.py"])
        written = await call("export", what="kernel.py", problem="mine", format="kernelbench", out="out")
        assert [Path(home, "out", name).is_file() for name in written["files"]] == [True]

    drive(home, use)


PLACES_OF_NO_PROBLEM = (
    "../problems/x.py", "x.py", "mine/problem.py", "problems/x/starter.py", "problems/.x.py", "problems/.x/problem.py",
    "problems/x/y/problem.py", "problems/../x.py", "problems/problem.txt", "conftest.py", "problems/a'b.py", "",
    "problems/x\n/problem.py", "problems/x\\y.py", "/problems/x.py", "problems/./x.py",
)  # fmt: skip


def test_a_problem_is_written_under_problems_only(home: Path) -> None:
    before = set(home.rglob("*"))

    async def use(call: Call) -> None:
        for place in PLACES_OF_NO_PROBLEM:
            with pytest.raises(RuntimeError, match="is no place of a problem") as error:
                await call("write_problem", file=place, text=PROBLEM)
            assert str(error.value).isprintable()
        with pytest.raises(RuntimeError, match="the text has 262145 bytes"):
            await call("write_problem", file="problems/long.py", text="#" * (1 << 18) + "\n")
        with pytest.raises(RuntimeError, match="File name too long"):
            await call("write_problem", file=f"problems/{'x' * 300}.py", text=PROBLEM)
        (home / "elsewhere").mkdir()
        (home / "problems/linked").symlink_to(home / "elsewhere")
        with pytest.raises(RuntimeError, match="link"):
            await call("write_problem", file="problems/linked/problem.py", text=PROBLEM)

    (home / "problems").mkdir()
    drive(home, use)
    assert {path.name for path in set(home.rglob("*")) - before} == {"problems", "elsewhere", "linked"}


FAULTS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("open_run", {"folder": "/proc/1/mem"}, "does not exist"),
    ("start_run", {"problem": "a\0b"}, "no problem at"),
    ("start_run", {"problem": "double", "trials": "many"}, "trials: Input should be a valid integer"),
    ("start_run", {"problem": "double", "strategy": "\x1b[2J\n"}, "there is no strategy"),
    ("check_problem", {"problem": "/proc/self/mem"}, "is not a Python file"),
    ("verify", {"problem": "double", "file": "/dev/zero"}, "no candidate file"),
    ("verify", {"problem": "double", "file": "pipe.py"}, "no candidate file"),
    ("verify", {}, "problem: Field required"),
    ("bench", {"problem": "double", "files": ["missing.py"]}, "missing.py"),
    ("export", {"what": "missing", "format": "none"}, "there is no format"),
    ("submit", {"number": "x", "reply": ""}, "number: Input should be a valid integer"),
    ("next_request", {"whole": 7}, "whole: Input should be a valid boolean"),
    ("no_such_tool", {}, "no_such_tool"),
)  # fmt: skip


def test_every_error_is_one_line_with_a_reason(home: Path) -> None:
    async def use(call: Call) -> None:
        for tool, given, reason in FAULTS:
            with pytest.raises(RuntimeError) as error:
                await call(tool, **given)
            text = str(error.value)
            assert reason in text, (tool, text)
            assert text.isprintable(), (tool, text)
            assert not text.startswith("Error executing tool"), (tool, text)

    os.mkfifo(home / "pipe.py")
    drive(home, use)


@pytest.mark.parametrize(("fault", "line"), [
    (OSError(28, "No space left on device", "runs/a\x1b"), r"No space left on device: runs/a\x1b"),
    (ValueError("two\nlines"), "ValueError: two lines"),
])  # fmt: skip
def test_an_error_that_no_tool_expects_is_one_line_too(fault: Exception, line: str) -> None:
    import anyio
    from mcp.server.mcpserver.exceptions import ToolError

    from kernelwright.mcp.calls import Server

    async def failing() -> None:
        raise fault

    made = Server("one tool")
    made.add_tool(failing)
    with pytest.raises(ToolError) as error:
        anyio.run(made.call_tool, "failing", {})
    assert str(error.value) == line


def test_the_verb_needs_no_terminal_to_say_what_it_is() -> None:
    assert "Serve runs to a coding agent over MCP." in run("mcp", "--help").stdout


@pytest.mark.parametrize("number", [signal.SIGINT, STOP])
def test_ctrl_c_ends_the_server_while_it_waits_for_its_client(home: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "kernelwright", "mcp"],
        cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}) + "\n")
        server.stdin.flush()
        assert "serverInfo" in server.stdout.readline()
        server.send_signal(number)
        try:
            assert server.wait(600) == -number
        finally:
            server.kill()
        assert server.stderr.read() == ""


def test_a_client_that_is_killed_ends_the_server_without_a_traceback(home: Path) -> None:
    command = [sys.executable, "-m", "kernelwright", "mcp"]
    with subprocess.Popen(
        command, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdout.close()
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}) + "\n")
        server.stdin.close()
        assert server.stderr.read() == ""
        assert server.wait() == 0
