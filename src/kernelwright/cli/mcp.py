"""`mcp`: a server for coding agents, on standard input and output.

An agent answers a run's prompts through it, under the same evaluator and budgets as a model. Standard output is for the
protocol only.
"""

from __future__ import annotations

import signal

import click

from kernelwright.cli.context import Parts, pass_parts, target_option
from kernelwright.cli.output import note
from kernelwright.errors import MachineError
from kernelwright.jobs.agent import AgentSession


@click.command()
@target_option
@pass_parts
def mcp(parts: Parts, target: str | None) -> None:
    """Serve runs to a coding agent over MCP.

    An agent starts this itself, over standard input and output: see docs/agents.md for how to configure that. Problems
    are found from the folder it is started in, and runs go to ./runs there.
    """
    try:
        from kernelwright.mcp.server import server
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("mcp"):
            raise
        raise MachineError(
            "the MCP server needs the package mcp, which is not here", "pip install 'kernelwright[mcp]'"
        ) from error
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the SDK's thread that reads standard input outlives an interrupt
    agent = AgentSession(start_worker=parts.start_worker, notify=note, target=target)
    try:
        server(agent).run("stdio")
    except Exception as error:
        if not is_unheard(error):
            raise
    finally:
        agent.close()


def is_unheard(error: BaseException) -> bool:
    """Whether nothing went wrong but that the agent has ended: its end of the pipe is closed. The SDK raises groups."""
    members = getattr(error, "exceptions", ())
    return all(map(is_unheard, members)) if members else isinstance(error, BrokenPipeError)
