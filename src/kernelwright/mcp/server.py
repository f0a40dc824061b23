"""The tools of the MCP server that work on a run, each one call of `jobs/agent.py`; `tools.py` has the others.

A tool's description is all that an agent reads before it calls, so it says what comes back and what to do next.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from kernelwright import __version__
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.settings import read_settings
from kernelwright.mcp.calls import BEGINS, READS, WRITES, Server, awaited, watched
from kernelwright.mcp.tools import add_tools
from kernelwright.model import LibraryMode
from kernelwright.report.runs import run_lines

INSTRUCTIONS = """\
kernelwright judges and times Triton kernels for a PyTorch problem; you write them. start_run begins a search,
next_request gives a prompt, submit hands in a whole Python module, wait says what became of it. Go on until the run is
over, or call finish. A kernel is judged on inputs that you never see; wrong ones, and ones that call
operators of PyTorch that the prompt does not allow, do not count. Where there is no problem file yet, write_problem
makes one and check_problem says whether it can tell a kernel from a trivial answer."""

WAIT_S = 45.0
"""Most clients give up on a call after a minute."""


def server(agent: AgentSession) -> MCPServer:
    made = Server("kernelwright", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    add_runs(made, agent)
    add_views(made, agent)
    add_answers(made, agent)
    add_tools(made, agent)
    return made


def add_runs(made: MCPServer, agent: AgentSession) -> None:
    """The tools that choose a run and look at it."""

    @made.tool(annotations=BEGINS)
    async def start_run(
        ctx: Context[Any, Any],
        problem: str | None = None,
        trials: int | None = None,
        minutes: float | None = None,
        strategy: str | None = None,
        starter: str | None = None,
        library: LibraryMode | None = None,
        tuning: int | None = None,
        requests_at_once: int = 1,
    ) -> dict[str, Any]:
        """Begin a search and open it. problem: a name of list_problems, or a path. trials and minutes limit it.
        strategy: beam, evolve, greedy or random. starter: a file with a first kernel, where the problem has none.
        library: which operators of PyTorch kernels may call, none, finish or any (default: what the problem states).
        tuning: with how many other configs a kernel that passed is tried before the next request (default 4; 0: none);
        they are not counted as trials. requests_at_once: how many prompts may wait at the same time, for agents that
        answer several side by side. What is left out is from ./kernelwright.toml, else from the defaults of
        `kernelwright optimize`. A problem of which this machine can judge nothing is refused, with the lines to add.
        Gives the run's state; then call wait, until a request waits."""
        return await awaited(
            ctx,
            "loading the problem",
            lambda: agent.start(
                problem,
                settings=read_settings(None, agent.desk.notify),
                at_once=requests_at_once,
                trials=trials,
                minutes=minutes,
                strategy=strategy,
                starter=starter,
                library=library,
                option=None if tuning is None else {"tuning": tuning},
            ),
        )

    @made.tool(annotations=BEGINS)
    async def open_run(ctx: Context[Any, Any], folder: str, requests_at_once: int = 1) -> dict[str, Any]:
        """Go on with a run that was begun before, by its folder; gives its state. Then call wait."""
        return await awaited(ctx, "opening the run", lambda: agent.go_on(folder, requests_at_once))

    @made.tool(annotations=READS)
    def list_runs(folder: str = "runs") -> list[dict[str, Any]]:
        """The runs in a folder, each with its problem, best time and state. open_run takes folder/run."""
        return [asdict(line) for line in run_lines(Path(folder))]


def add_views(made: MCPServer, agent: AgentSession) -> None:
    """The tools that show the open run."""

    @made.tool(annotations=READS)
    def state() -> dict[str, Any]:
        """State of the open run: what it is doing, verdict, what waits, budget, what to do now. Answers at once, also
        while a kernel is judged."""
        return agent.state()

    @made.tool(annotations=READS)
    def history() -> str:
        """Every trial of the open run in a line: operator, parents, outcome, time."""
        return agent.history()

    @made.tool(annotations=READS)
    def verdict(trial: int) -> dict[str, Any]:
        """All that was found of a trial: status, reason, times by case against the bound, compiled resources, source.
        What wait says is the short form."""
        return agent.verdict(trial)

    @made.tool(annotations=READS)
    async def profile(ctx: Context[Any, Any], trial: int) -> str:
        """Where a trial's time goes, and the one bottleneck with its evidence: counters where this machine has a
        profiler, else what the compiler says."""
        return await awaited(ctx, f"profiling trial {trial}", lambda: agent.profile(trial))


def add_answers(made: MCPServer, agent: AgentSession) -> None:
    """The tools that answer a run's requests."""

    @made.tool(annotations=READS)
    def next_request(number: int | None = None, whole: bool = False) -> dict[str, Any]:
        """The prompt of the next request that waits, or of the one named: the kernel to start from, where its time
        goes, what was tried so far. The first one of a run begins with the rules and the problem; whole gives them
        again. Answer it with submit."""
        return agent.next_request(number, whole)

    @made.tool(annotations=WRITES)
    async def submit(ctx: Context[Any, Any], number: int, reply: str) -> dict[str, Any]:
        """Answer request `number`. reply: a whole Python module with ModelNew or kernel_function, or Markdown with one
        such block and a line "Note: …" on what was changed. Code that does not parse or compile, breaks a rule or is in
        this run already is refused with its line: no trial is spent, and the request still waits. Returns when it is
        compiled; call wait for the verdict."""
        return await awaited(ctx, "compiling the kernel", lambda: agent.submit(number, reply))

    @made.tool(annotations=READS)
    async def wait(ctx: Context[Any, Any], seconds: float = WAIT_S) -> dict[str, Any]:
        """Wait until nothing is being judged, but no longer than these seconds. Gives short verdicts of the trials that
        were finished since you last asked (tunings too), and the run's state; where state.doing is not null, call it
        again."""
        await watched(ctx, lambda: agent.progress, agent.is_idle, seconds)
        return agent.news()

    @made.tool(annotations=WRITES)
    def finish() -> dict[str, Any]:
        """End the open run before its budget is spent: what waits is withdrawn, and the best kernel is confirmed in a
        fresh process on held-out cases. Returns at once; wait gives the final state, with the file of the confirmed
        best."""
        return agent.finish()
