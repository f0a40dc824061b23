"""What torch.compile would run for the loaded problem, as text, from a generator that ends when it has answered."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernelwright import codec
from kernelwright.errors import ProblemError, WorkerError
from kernelwright.model import Generated
from kernelwright.worker.generate.messages import Generate
from kernelwright.worker.processes.channel import Done, Fault
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.session import Session


def generate(session: Session) -> Generated:
    """Asked once of each problem. Raises `ProblemError` where the problem cannot be described; where generating fails,
    the answer says so."""
    return session.generated(lambda: _generate(session))


def _generate(session: Session) -> Generated:
    processes, read_from = session.processes, session.read_from()
    with tempfile.TemporaryDirectory(dir=processes.scratch, prefix="generate-") as cache:
        job = Generate(
            path=read_from.path, dtype=read_from.dtype, cases=read_from.cases or (), target=processes.target.name,
            cache=str(Path(cache)),
        )  # fmt: skip
        child = processes.spawn("generator", log=True)
        try:
            answer = codec.record(child.ask(job, processes.limits.generate_s), Done | Fault)  # type: ignore[arg-type]
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
