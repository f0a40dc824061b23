"""Compiles the framework's baselines before they are timed, in a process of its own and without the lease.

Otherwise the GPU waits for the compilers: in a measurement beside `torch.compile` with max-autotune they took most of
the time. The judge finds the results in the caches. A baseline that is not compiled here is compiled there.
A search that has a kernel ends with such a measurement, so what that needs is compiled while the search goes on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from kernelwright.errors import WorkerError
from kernelwright.model import CaseInfo
from kernelwright.worker.ahead.messages import CompileAhead
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.session import Session

log = logging.getLogger(__name__)

IN_SEARCH = ("compile",)
"""What the last measurement of a search always times."""


def begin_ahead(session: Session) -> None:
    """Compile the baselines of IN_SEARCH for the timed cases in a thread, once for a loaded problem."""
    if session.ahead is None:
        timed = [info for info in session.loaded().cases if info.case.timed]
        session.ahead = threading.Thread(target=compile_ahead, args=(session, timed, IN_SEARCH), daemon=True)
        session.ahead.start()


def not_begun(session: Session, chosen: Sequence[CaseInfo], framework: Sequence[str]) -> tuple[str, ...]:
    """Those of the baselines that `begin_ahead` does not compile for the chosen cases. Waits until it has compiled."""
    if session.ahead is None or not all(info.case.timed for info in chosen):
        return tuple(framework)
    session.ahead.join()
    return tuple(name for name in framework if name not in IN_SEARCH)


def compile_ahead(session: Session, chosen: Sequence[CaseInfo], framework: Sequence[str]) -> None:
    """Compile the baselines among `framework` for the chosen cases. The caller does not hold the lease. Forward and
    backward together are not compiled: the caches would not have them."""
    processes, loaded = session.processes, session.loaded()
    names = tuple(name for name in framework if name != "eager")
    if not names or loaded.gradients:
        return
    read_from = session.read_from()
    job = CompileAhead(
        path=read_from.path, cases=read_from.cases or (), names=names, device=processes.device, cores=processes.cores,
        wanted=tuple(info.case.name for info in chosen),
    )  # fmt: skip
    try:
        child = processes.spawn("baseline_compiler", log=True)
        try:
            for failure in child.ask(job, processes.limits.ahead_s)["value"]:
                log.info("not compiled before it is timed: %s", failure)
        except ChildDied as error:
            log.warning("nothing is compiled before it is timed: the process %s: %s", error.how, child.printed(400))
        finally:
            child.discard()
    except (ChildTimeout, WorkerError) as error:
        log.warning("not everything is compiled before it is timed: %s", error)
