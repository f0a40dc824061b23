"""An MCP server whose worker is fake: started by test_mcp.py as an agent starts the real one."""

from __future__ import annotations

from contextlib import closing

from fakes import FakeWorker
from kernelwright.cli.desk import Desk
from kernelwright.cli.mcp_server import server
from kernelwright.cli.parts import Parts

if __name__ == "__main__":
    server(Desk(Parts(start_worker=lambda target: closing(FakeWorker())))).run("stdio")
