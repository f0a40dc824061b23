"""A candidate compiled but not run: its resources, or why it cannot run. Needs no GPU, no lease and no data.

It verifies and times nothing (`evaluate`), and what it compiled is there when that comes to it. Only
what no launch could survive is refused here; a kernel that merely looks slow is not.
"""

from __future__ import annotations

from kernelwright.devices.backend import BACKEND
from kernelwright.errors import ConfigError
from kernelwright.model import Candidate, Evaluation, KernelResources, Status
from kernelwright.source import parse as syntax
from kernelwright.worker.processes.outcome import Ended
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import cases_for, evaluation
from kernelwright.worker.stages.subject import Subject

COMPILED = "compiled, not run"
"""The reason of an evaluation that found nothing against a candidate."""


def precompile(session: Session, candidate: Candidate, purpose: str) -> Evaluation:
    """`not_verified` with the resources of every kernel of the cases that `evaluate` looks at for this purpose, or the
    failure."""
    try:
        subject = Subject(session, candidate)
    except ConfigError as error:
        return Evaluation(status=Status.REJECTED, reason=str(error))
    except SyntaxError as error:
        return Evaluation(status=Status.COMPILE_ERROR, reason=syntax.complaint(error))
    try:
        subject.prepare([case.name for case in cases_for(session, purpose)])
    except Ended as ended:
        return evaluation(subject, ended.status, ended.reason, [])
    failed = next((result for result in subject.unplanned.values() if result.status is not Status.NOT_VERIFIED), None)
    if failed is not None:
        return evaluation(subject, failed.status, f"case {failed.case}: {failed.reason}", [])
    reason = next((found for kernel in subject.resources.values() if (found := unfit(kernel))), None)
    if reason is not None:
        return evaluation(subject, Status.REJECTED, reason, [])
    return evaluation(subject, Status.NOT_VERIFIED, COMPILED, [])


def unfit(kernel: KernelResources) -> str | None:
    """Why no launch of a compiled kernel can succeed on its target. Shared memory is the compiler's to refuse."""
    threads = kernel.num_warps * BACKEND.warp_threads
    if threads > BACKEND.max_block_threads:
        return f"{kernel.kernel} has {threads} threads per block, at most {BACKEND.max_block_threads} can be launched"
    if kernel.occupancy == 0:
        return (
            f"{kernel.kernel} needs {kernel.registers} registers in each of {threads} threads, more than a "
            f"multiprocessor of {kernel.target} has: use fewer warps or smaller blocks"
        )
    return None
