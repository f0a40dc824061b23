"""The tools of the MCP server, each one call of `jobs/agent.py`.

A tool's description is all that an agent reads before it calls, so it says what comes back and what to do next.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from kernelwright import __version__
from kernelwright.cli.output import note
from kernelwright.errors import KernelwrightError
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.settings import read_settings
from kernelwright.problems import ProblemPath, find_problem
from kernelwright.problems.paths import gallery_names
from kernelwright.report.runs import run_lines
from kernelwright.source import parse as syntax

INSTRUCTIONS = """\
kernelwright judges and times Triton kernels for a PyTorch problem; you write them. start_run begins a search,
next_request gives a prompt, submit hands in a whole Python module and says what became of it. Go on until the run is
over, or call finish. A kernel is judged on inputs that you never see; wrong ones, and ones that call PyTorch to
compute, do not count."""


P = ParamSpec("P")
R = TypeVar("R")


def said(tool: Callable[P, R]) -> Callable[P, R]:
    """The tool, with errors of kernelwright as tool errors: the SDK hides the text of any other exception."""

    @functools.wraps(tool)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except KernelwrightError as error:
            raise ToolError(str(error)) from error

    return answered


def server(agent: AgentSession) -> MCPServer:
    made = MCPServer("kernelwright", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")

    @made.tool()
    @said
    def list_problems(folder: str = ".") -> list[dict[str, str]]:
        """The problems in a folder's gallery, each with its name and what it computes. start_run takes a name, or the
        path of any problem file."""
        names = gallery_names(Path(folder))
        return [described(find_problem(str(Path(folder) / "gallery" / name))) for name in names]

    @made.tool()
    @said
    def start_run(
        problem: str | None = None,
        trials: int | None = None,
        minutes: float | None = None,
        strategy: str | None = None,
        starter: str | None = None,
    ) -> dict[str, Any]:
        """Begin a search and open it. problem: a name of list_problems, or a path. trials and minutes limit it.
        strategy: beam, evolve, greedy or random. starter: a file with a first kernel, where the problem has none. What
        is left out comes from ./kernelwright.toml, else from the defaults of `kernelwright optimize`. A kernel that
        passed is tuned before the next request; tunings count as trials. Takes up to a few minutes; gives the run's
        state, with the numbers of the requests that wait."""
        return agent.start(
            problem,
            settings=read_settings(None, note),
            trials=trials,
            minutes=minutes,
            strategy=strategy,
            starter=starter,
        )

    @made.tool()
    @said
    def list_runs(folder: str = "runs") -> list[dict[str, Any]]:
        """The runs in a folder, each with its problem, best time and state. open_run takes folder/run."""
        return [asdict(line) for line in run_lines(Path(folder))]

    @made.tool()
    @said
    def open_run(folder: str) -> dict[str, Any]:
        """Go on with a run that was begun before, by its folder; gives its state."""
        return agent.go_on(folder)

    @made.tool()
    @said
    def next_request(number: int | None = None) -> dict[str, Any]:
        """The prompt of the next request that waits, or of the one named: the problem, the kernel to start from, where
        its time goes, what was tried. Answer it with submit."""
        return agent.next_request(number)

    @made.tool()
    @said
    def submit(number: int, reply: str) -> dict[str, Any]:
        """Answer request `number`. reply: a whole Python module with ModelNew or kernel_function, or Markdown with one
        such block and a line "Note: …" on what was changed. It is judged and timed before this returns; gives the
        verdict and the run's state."""
        return agent.submit(number, reply)

    @made.tool()
    @said
    def verdict(trial: int) -> dict[str, Any]:
        """What became of a trial: status, reason, times by case against the bound, compiled resources, source."""
        return agent.verdict(trial)

    @made.tool()
    @said
    def profile(trial: int) -> str:
        """Where a trial's time goes, and the one bottleneck with its evidence: counters where this machine has a
        profiler, else what the compiler says."""
        return agent.profile(trial)

    @made.tool()
    @said
    def history() -> str:
        """Every trial of the open run in a line: operator, parents, outcome, time."""
        return agent.history()

    @made.tool()
    @said
    def state() -> dict[str, Any]:
        """State of the open run: verdict, what waits, budget, what to do now."""
        return agent.state()

    @made.tool()
    @said
    def finish() -> dict[str, Any]:
        """End the open run before its budget is spent: what waits is withdrawn, and the best kernel is confirmed in a
        fresh process on held-out cases. Gives the final state, with the file of the confirmed best."""
        return agent.finish()

    return made


def described(problem: ProblemPath) -> dict[str, str]:
    """Name, file and the first line of the problem's docstring; the file is not run."""
    try:
        text = ast.get_docstring(syntax.parse(problem.file.read_text(encoding="utf-8-sig"))) or ""
    except (OSError, SyntaxError, ValueError):
        text = ""
    return {"name": problem.name, "file": str(problem.file), "about": text.partition("\n")[0]}
