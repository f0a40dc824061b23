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
from kernelwright.model import (
    Close,
    CompileCandidate,
    EvaluateCandidate,
    LoadProblem,
    ProfileCandidate,
    ProfileFramework,
    QualifyProblem,
    Returned,
    ToWorker,
)

EVALUATION_S = 0.03


def command_line() -> None:
    cli(
        prog_name="kernelwright",
        obj=Parts(start_worker=lambda target: ProcessWorker([sys.executable, __file__, "--worker"])),
    )


def worker() -> None:
    fake, lock = FakeWorker(delay_s=EVALUATION_S), threading.Lock()

    def say(number: int | None, value: Any) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            print(json.dumps(codec.plain(Returned(id=number, value=codec.plain(value)))), flush=True)

    say(None, "ready")
    for line in sys.stdin:
        call: ToWorker = codec.decode(line, ToWorker)  # type: ignore[arg-type]
        if isinstance(call, Close):
            return
        threading.Thread(target=lambda asked=call: say(asked.id, respond(fake, asked)), daemon=True).start()


def respond(fake: FakeWorker, call: ToWorker) -> Any:
    match call:
        case LoadProblem(path=path, loading=loading):
            return fake.load(path, loading)
        case QualifyProblem(every=every):
            return fake.qualify(every)
        case ProfileCandidate(candidate=implementation, case=case, full=full):
            return fake.profile(implementation, case, full)
        case ProfileFramework(name=implementation, case=case, full=full):
            return fake.profile(implementation, case, full)
        case CompileCandidate(candidate=candidate, purpose=purpose):
            return fake.compile(candidate, purpose)
        case EvaluateCandidate(candidate=candidate, purpose=purpose):
            return fake.evaluate(candidate, purpose)
    return getattr(fake, call.verb)()


if __name__ == "__main__":
    if "--worker" in sys.argv:
        with contextlib.suppress(BrokenPipeError):  # whoever started it was killed
            worker()
        os._exit(0)  # the threads have nobody to answer
    command_line()
