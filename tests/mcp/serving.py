"""An MCP server whose worker is fake: started by test_server.py as an agent starts the real one.

The word "slow" after its name makes the worker take seconds for each candidate.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from fakes import FakeWorker
from kernelwright.jobs.agent import AgentSession
from kernelwright.jobs.worker import Desk
from kernelwright.mcp.server import server
from kernelwright.model import Candidate, Evaluation
from pictures import draw_only
from started import starting


class SlowWorker(FakeWorker):
    def evaluate(self, candidate: Candidate, *given: Any, **named: Any) -> Evaluation:
        time.sleep(2.5)
        return super().evaluate(candidate, *given, **named)


if __name__ == "__main__":
    draw_only()
    worker = SlowWorker() if sys.argv[1:] == ["slow"] else None  # a new one each time
    server(AgentSession(Desk(lambda line: None, starting(worker)))).run("stdio")
