"""A coordinator with keys in its environment that has candidates recorded, below the static check.

A program of its own, because /proc shows the environment that a process was started with. Reads a JSON object of
candidates by name from standard input, prints one of what came of each: `answer`, `ended`, `log`, `confinement`,
`left` (whether a process of it is), `seconds` until the confinement was reported.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kernelwright.model import TensorSpec
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.processes.children import ChildDied, ChildTimeout, ForkServer
from kernelwright.worker.record.messages import RecordCases

DEADLINE_S = 600.0
ENDLESS_S = 5.0
"""For what never ends."""
CASE = CaseShape(
    name="only", inputs=(TensorSpec(shape=(16,), dtype="float32", stride=(1,)),), input_names=("x",),
    parameters={}, init=(), init_names=(),
)  # fmt: skip


def recorded(server: ForkServer, source: str, deadline_s: float) -> dict[str, Any]:
    recorder = server.spawn("recorder", log=True)
    found: dict[str, Any] = {"ended": "", "answer": None}
    found["confinement"] = recorder.channel.receive(600.0)["measures"]
    try:
        found["answer"] = recorder.ask(
            RecordCases(source=source, autotune={}, target="sm_90", cases=(CASE,)), deadline_s
        )
    except ChildDied as error:
        found["ended"] = error.how
    except ChildTimeout:
        found["ended"] = "timeout"
    if recorder.alive:
        recorder.kill()
    found["log"] = recorder.printed(100_000)
    found["left"] = anything_left(server, recorder.pid)
    return found


def anything_left(server: ForkServer, group: int) -> bool:
    """Whether a process of the group is still there long after it was killed, be it only to be reaped."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        server.wait(group, 0.0)
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


def main() -> None:
    candidates = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        server = ForkServer(Path(folder))
        try:
            found = {
                name: recorded(
                    server,
                    source.replace("@COORDINATOR@", str(os.getpid())),
                    ENDLESS_S if name == "endless" else DEADLINE_S,
                )
                for name, source in candidates.items()
            }
        finally:
            server.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
