"""Compiles the framework's baselines before they are timed, in a process of its own and without the lease.

Otherwise the GPU waits for the compilers: in a benchmark beside `torch.compile` with max-autotune they took most of the
time. The judge finds the results in Inductor's caches. A baseline that is not compiled here is compiled there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kernelwright.errors import WorkerError
from kernelwright.model import CaseInfo
from kernelwright.worker.ahead.messages import CompileAhead
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.session import Session

log = logging.getLogger(__name__)


def compile_ahead(session: Session, chosen: Sequence[CaseInfo], framework: Sequence[str]) -> None:
    """Compile the baselines among `framework` for the chosen cases. The caller must not hold the lease, because
    Inductor takes it to measure. Forward and backward together are not compiled: the caches would not have them."""
    processes, loaded = session.processes, session.loaded()
    names = tuple(name for name in framework if name != "eager")
    if not names or loaded.gradients:
        return
    read_from = session.read_from()
    job = CompileAhead(
        path=read_from.path, cases=read_from.cases or (), names=names, device=processes.device,
        wanted={info.case.name: None if info.case.small else read_from.dtype for info in chosen},
        gpu=processes.machine["uuid"],
    )  # fmt: skip
    try:
        child = processes.spawn("ahead", log=True)
        try:
            failures = child.ask(job, processes.limits.ahead_s)["value"]
        finally:
            child.discard()
    except (ChildDied, ChildTimeout, WorkerError) as error:
        failures = [str(error)]
    for failure in failures:
        log.info("not compiled before it is timed: %s", failure)
