"""Text of the kernels that torch.compile would run for the loaded problem, from a generator process.

A generator makes one text and ends; meanwhile the judge measures the tolerances of small cases. The text is generated
once per loaded problem and kept in the compile cache, if the worker has one.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import Generated
from kernelwright.worker.generate.messages import Generate
from kernelwright.worker.processes.channel import Done, Fault
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.session import Session
from kernelwright.worker.stages.verify import measure_ahead

WAITS = 3
"""A generator on a machine with other work may take this many times its limit of processor time."""


def generate(session: Session) -> Generated:
    """What was generated, or the reason why there is none. Raises `ProblemError` if the problem is at fault."""
    read_from = session.read_from()
    job = Generate(
        path=read_from.path, cases=read_from.cases or (), target=session.processes.target.name, cache="",
        limit_s=session.processes.limits.generate_s,
    )  # fmt: skip
    key = key_of(session, job)
    return session.generated(key, lambda: _kept(session, job, key))


def _kept(session: Session, job: Generate, key: str) -> Generated:
    """What was generated, from the compile cache, or from a new generator. A failure is not cached, because the machine
    may have caused it."""
    processes = session.processes
    if processes.cache is None:
        return _generate(session, job)
    try:
        return codec.record(processes.cache.fetch(key), Generated)
    except msgspec.ValidationError:
        found = _generate(session, job)
    if not found.reason:
        processes.cache.store(key, found)
    return found


def key_of(session: Session, job: Generate) -> str:
    """Cache key: a hash of what determines the generated code. The cache adds kernelwright's own files and Python."""
    problem = session.loaded()
    state = Path(job.path).with_name("module.pt")
    read = state.stat() if state.is_file() else None
    texts = [problem.source, problem.modules, problem.precision, read and (read.st_size, read.st_mtime_ns)]
    asked = codec.plain(msgspec.structs.replace(job, path=Path(job.path).name))
    return f"generated:{codec.sha(codec.encode([texts, asked, session.processes.versions()]))}"


def _generate(session: Session, job: Generate) -> Generated:
    processes = session.processes
    with tempfile.TemporaryDirectory(dir=processes.scratch, prefix="generate-") as cache:
        child = processes.spawn("generator", log=True)
        try:
            threading.Thread(target=measure_ahead, args=(session,), daemon=True).start()
            asked = msgspec.structs.replace(job, cache=str(Path(cache)))
            answer = codec.record(child.ask(asked, WAITS * processes.limits.generate_s), Done | Fault)  # type: ignore[arg-type]
        except ChildTimeout:
            return Generated(reason=f"generating took over {WAITS * processes.limits.generate_s:g} s")
        except ChildDied as error:
            return Generated(reason=f"the generator {error.how}: {' '.join(child.printed(400).split())}")
        finally:
            child.discard()
    match answer:
        case Done(value=value):
            return codec.record(value, Generated)
        case Fault(message=message, of_problem=of_problem):
            raise (ProblemError if of_problem else WorkerError)(message)
        case _:
            raise WorkerError(f"the generator answered {answer!r:.100}")
