"""An MCP server whose worker is fake: started by test_mcp.py as an agent starts the real one."""

from __future__ import annotations

from kernelwright.cli.mcp_server import server
from kernelwright.jobs.agent import AgentSession
from started import starting

if __name__ == "__main__":
    server(AgentSession(start_worker=starting(), notify=lambda line: None)).run("stdio")
