"""Compilation of a candidate without a run: its resources, or why it cannot run. Needs no GPU, lease or inputs.

Nothing is verified or timed here (see `evaluate`, which reuses the compiled kernels). A kernel is refused only if no
launch of it can succeed, not because it looks slow.
"""

from __future__ import annotations

from kernelwright.devices.backend import BACKEND
from kernelwright.model import Candidate, Evaluation, KernelResources, Status
from kernelwright.worker.processes.outcome import Ended, Killed
from kernelwright.worker.session import Session
from kernelwright.worker.stages.evaluate import cases_for, evaluation
from kernelwright.worker.stages.subject import Subject

COMPILED = "compiled, not run"
"""Reason of the evaluation of a candidate that compiled."""


def precompile(session: Session, candidate: Candidate, purpose: str) -> Evaluation:
    """Compile the kernels of all cases that `evaluate` checks for this purpose. Status `not_verified` with their
    resources, or the failure."""
    try:
        subject = Subject(session, candidate)
    except Ended as ended:
        return Evaluation(status=ended.status, reason=ended.reason)
    try:
        subject.prepare([case.name for case in cases_for(session, purpose)])
    except Ended as ended:
        return evaluation(subject, ended.status, ended.reason, [], isinstance(ended, Killed))
    failed = next((result for result in subject.unplanned.values() if result.status is not Status.NOT_VERIFIED), None)
    if failed is not None:
        return evaluation(subject, failed.status, f"case {failed.case}: {failed.reason}", [])
    reason = next((found for kernel in subject.resources.values() if (found := unfit(kernel))), None)
    if reason is not None:
        return evaluation(subject, Status.REJECTED, reason, [])
    return evaluation(subject, Status.NOT_VERIFIED, COMPILED, [])


def unfit(kernel: KernelResources) -> str | None:
    """Why no launch of a compiled kernel can succeed on its target; None if one can. Shared memory is checked by the
    compiler (`compile.compiler.compiled`)."""
    threads = kernel.num_warps * BACKEND.warp_threads
    if threads > BACKEND.max_block_threads:
        return f"{kernel.kernel} has {threads} threads per block, at most {BACKEND.max_block_threads} can be launched"
    if kernel.occupancy == 0:
        return (
            f"{kernel.kernel} needs {kernel.registers} registers in each of {threads} threads, more than a "
            f"multiprocessor of {kernel.target} has: use fewer warps or smaller blocks"
        )
    return None
