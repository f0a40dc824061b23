"""Does each of a candidate's kernels contribute? Each is left out in turn, and the answer has to become wrong.

By construction a plan's device time is all fills, copies and launches of the candidate's own kernels: nothing of the
framework's computes. What is left to catch is a kernel that only decorates, while copies, fills or another kernel give
the answer. Memory is poisoned before, so that what nobody writes is not right by chance.
"""

from __future__ import annotations

import msgspec

from kernelwright.model import CaseResult, Status
from kernelwright.worker.plan.plan import Argument, Copy, Descriptor, Fill, Launch, Plan, Tensor, TritonLaunch, Tuple
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import replayed


def superfluous(subject: Subject, case: str) -> CaseResult | None:
    """A rejection if the answer to a verified case stays right without one of its kernels; each is tried once.

    A call that fails or does not end without the kernel has missed it.
    """
    plan = subject.plans[case]
    for kernel in sorted({launch.kernel for launch in plan.launches if 0 not in launch.grid} - subject.necessary):
        rest = without(plan, kernel)
        if not leaves_unwritten(rest):
            with subject.leased("necessity"):
                # Draw 0 comes with the poison that is NaN, and as an index lies just before the buffer.
                result = replayed(subject, case, rest, draw=0, limit_s=subject.processes.limits.suppressed_s)
            if result.status is Status.PASSED:
                reason = f"the kernel {kernel} does not contribute: without it the output is still right"
                return CaseResult(case=case, status=Status.REJECTED, reason=reason)
        subject.necessary.add(kernel)
    return None


def without(plan: Plan, kernel: str) -> Plan:
    """The plan less every launch of a kernel."""
    steps = tuple(step for step in plan.steps if not (isinstance(step, Launch) and step.kernel == kernel))
    return msgspec.structs.replace(plan, steps=steps)


def leaves_unwritten(plan: Plan) -> bool:
    """Whether some output surely keeps its poison: fresh memory that no step is given."""
    given = {buffer.id for buffer in plan.buffers if buffer.origin != "scratch"}
    for step in plan.steps:
        match step:
            case Fill(view=view) | Copy(target=view):
                given.add(view.buffer)
            case TritonLaunch():
                given |= {buffer for argument in step.arguments.values() for buffer in _buffers(argument)}
    return any(view.buffer not in given and 0 not in view.shape for view in plan.outputs)


def _buffers(argument: Argument) -> set[int]:
    match argument:
        case Tensor(view=view) | Descriptor(view=view):
            return {view.buffer}
        case Tuple(items=items):
            return {buffer for item in items for buffer in _buffers(item)}
    return set()
