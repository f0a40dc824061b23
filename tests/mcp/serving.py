"""An MCP server whose worker is fake: started by test_server.py as an agent starts the real one.

The words after its name say what is special about the worker: "slow", or "timed cases only" on a machine without a GPU.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec

from fakes import ENVIRONMENT, PROBLEM, FakeWorker
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


def worker(which: str) -> FakeWorker | None:
    """None: a new one each time."""
    if which == "slow":
        return SlowWorker()
    if which == "timed cases only":
        timed = msgspec.structs.replace(PROBLEM, cases=tuple(one for one in PROBLEM.cases if one.case.timed))
        return FakeWorker(where=msgspec.structs.replace(ENVIRONMENT, device=None), problem=timed)
    return None


if __name__ == "__main__":
    draw_only()
    which = " ".join(sys.argv[1:])
    server(AgentSession(Desk(lambda line: None, starting(worker(which))))).run("stdio")
