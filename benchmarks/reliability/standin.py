"""The stand-in: `kernelwright` with a fake worker, itself a process behind the argv seam, in place of the real one.

    python standin.py optimize …      the command line
    python standin.py --worker …      the worker: JSON lines, answered by the fakes of the tests

Nothing is compiled or run. The same question gets the same answer in every process.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))

from fakes import FakeWorker
from kernelwright import codec
from kernelwright.cli.context import Parts
from kernelwright.cli.main import cli
from kernelwright.evaluator.client import ProcessWorker
from kernelwright.model import Candidate

EVALUATION_S = 0.03


def command_line() -> None:
    cli(
        prog_name="kernelwright",
        obj=Parts(start_worker=lambda target: ProcessWorker([sys.executable, __file__, "--worker"])),
    )


def worker() -> None:
    fake, lock = FakeWorker(delay_s=EVALUATION_S), threading.Lock()

    def say(message: dict[str, Any]) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            print(json.dumps(message), flush=True)

    say({"id": None, "ok": "ready"})
    for line in sys.stdin:
        request = json.loads(line)
        if request["verb"] == "close":
            return
        threading.Thread(
            target=lambda asked=request: say({"id": asked["id"], "ok": codec.plain(respond(fake, asked))}), daemon=True
        ).start()


def respond(fake: FakeWorker, request: dict[str, Any]) -> Any:
    verb = request["verb"]
    if verb in ("environment", "machine"):
        return getattr(fake, verb)()
    if verb == "load":
        return fake.load(request["path"], request["dtype"])
    if verb == "qualify":
        return fake.qualify(request["every"])
    if verb == "profile":
        asked = request["implementation"]
        return fake.profile(
            asked if isinstance(asked, str) else codec.record(asked, Candidate), request["case"], request["full"]
        )
    return getattr(fake, verb)(codec.record(request["candidate"], Candidate), request["purpose"])


if __name__ == "__main__":
    if "--worker" in sys.argv:
        with contextlib.suppress(BrokenPipeError):  # whoever started it was killed
            worker()
        os._exit(0)  # the threads have nobody to answer
    command_line()
