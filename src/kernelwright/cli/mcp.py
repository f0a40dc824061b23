"""`mcp`: a server for coding agents, on standard input and output.

Not a proposer and no loop: an agent answers a run's prompts through it, under the same evaluator and budgets as a
model. The rule: standard output belongs to the protocol.
"""

from __future__ import annotations

import signal

import click

from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import MachineError


@click.command()
@target_option
@pass_parts
def mcp(parts: Parts, target: str | None) -> None:
    """Serve runs to a coding agent over MCP.

    An agent starts this itself, over standard input and output: see docs/agents.md for how to tell it. Problems are
    found from the folder it is started in, and runs go to ./runs there.
    """
    try:
        from kernelwright.cli.mcp_server import server
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("mcp"):
            raise
        raise MachineError(
            "the MCP server needs the package mcp, which is not here", "pip install 'kernelwright[mcp]'"
        ) from error
    from kernelwright.cli.desk import Desk

    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the SDK's thread that reads standard input outlives an interrupt
    desk = Desk(parts, target)
    try:
        server(desk).run("stdio")
    finally:
        desk.close()
