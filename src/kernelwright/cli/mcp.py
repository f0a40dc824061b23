"""`mcp`: a server for coding agents, on standard input and output.

An agent answers a run's prompts through it, under the same evaluator and budgets as a model. Standard output is for the
protocol only.
"""

from __future__ import annotations

import signal

import click

from kernelwright.cli.context import Parts, pass_parts, target_option, weak_option
from kernelwright.cli.output import note
from kernelwright.errors import MachineError
from kernelwright.interruption import STOP
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.worker import Desk


@click.command()
@target_option
@weak_option
@pass_parts
def mcp(parts: Parts, target: str | None) -> None:
    """Serve runs to a coding agent over MCP.

    An agent starts this itself, over standard input and output: see docs/agents.md for how to configure that. Problems
    are found from the folder it is started in, and runs go to ./runs there. Ctrl-C ends it at once; an open run can be
    opened again.
    """
    try:
        from kernelwright.mcp.server import server
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("mcp"):
            raise
        raise MachineError(
            "the MCP server needs the package mcp, which is not here", "pip install 'kernelwright[mcp]'"
        ) from error
    for number in (signal.SIGTERM, signal.SIGINT, STOP):  # no exception ends the SDK's thread that reads standard input
        signal.signal(number, signal.SIG_DFL)
    agent = AgentSession(Desk(note, parts.start_worker, target=target))
    try:
        server(agent).run("stdio")
    except Exception as error:
        if not is_closed_pipe(error):
            raise
    finally:
        agent.close()


def is_closed_pipe(error: BaseException) -> bool:
    """Whether the only error is that the agent closed its end of the pipe. The SDK wraps it in an exception group."""
    members = getattr(error, "exceptions", ())
    return all(map(is_closed_pipe, members)) if members else isinstance(error, BrokenPipeError)
