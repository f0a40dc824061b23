"""What torch.compile would run for the loaded problem, as text, from a generator that ends when it has answered.

It is asked once of a problem, and where the worker has a compile cache, once of the same problem there.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import Generated
from kernelwright.worker.generate.messages import Generate
from kernelwright.worker.processes.channel import Done, Fault
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.session import Session


def generate(session: Session) -> Generated:
    """Raises `ProblemError` where the problem cannot be described; where generating fails, the answer says so."""
    return session.generated(lambda: _kept(session))


def _kept(session: Session) -> Generated:
    """From the compile cache where it is there. A reason for nothing may be the machine's, and is not kept."""
    processes, read_from = session.processes, session.read_from()
    job = Generate(
        path=read_from.path, dtype=read_from.dtype, cases=read_from.cases or (), target=processes.target.name, cache="",
    )  # fmt: skip
    if processes.cache is None:
        return _generate(session, job)
    key = key_of(session, job)
    try:
        return codec.record(processes.cache.fetch(key), Generated)
    except msgspec.ValidationError:
        found = _generate(session, job)
    if found.captures:
        processes.cache.store(key, found)
    return found


def key_of(session: Session, job: Generate) -> str:
    """Of all that Inductor's text follows from; the cache adds kernelwright's own files and Python."""
    problem = session.loaded()
    texts = [problem.source, problem.modules, problem.precision]
    asked = codec.plain(msgspec.structs.replace(job, path=Path(job.path).name))
    return f"generated:{codec.sha(codec.encode([texts, asked, session.processes.versions()]))}"


def _generate(session: Session, job: Generate) -> Generated:
    processes = session.processes
    with tempfile.TemporaryDirectory(dir=processes.scratch, prefix="generate-") as cache:
        child = processes.spawn("generator", log=True)
        try:
            asked = msgspec.structs.replace(job, cache=str(Path(cache)))
            answer = codec.record(child.ask(asked, processes.limits.generate_s), Done | Fault)  # type: ignore[arg-type]
        except ChildTimeout:
            return Generated(reason=f"generating took over {processes.limits.generate_s:g} s")
        except ChildDied as error:
            return Generated(reason=f"the generator {error.how}: {' '.join(child.printed(400).split())}")
        finally:
            child.kill()
            if child.log is not None:
                child.log.unlink(missing_ok=True)
    match answer:
        case Done(value=value):
            return codec.record(value, Generated)
        case Fault(message=message, of_problem=of_problem):
            raise (ProblemError if of_problem else WorkerError)(message)
    raise WorkerError(f"the generator answered {answer!r:.100}")
