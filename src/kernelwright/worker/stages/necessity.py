"""Does each of a candidate's kernels contribute? Each is left out in turn, and the answer has to become wrong.

By construction a plan's device time is all fills, copies and launches of the candidate's own kernels: nothing of the
framework's computes, library steps aside. What is left to catch is a kernel that only decorates, while copies, fills or
another kernel give the answer. Memory is poisoned before, so that memory that no step writes is not right by chance.

Beside library steps the kernels together have to do more than copy: with copies and fills in place of all of them
(`stand_ins`), the answer has to become wrong, too, also where the library steps do less.
"""

from __future__ import annotations

import msgspec

from kernelwright.model import CaseResult, Status
from kernelwright.worker.judge.messages import Draws
from kernelwright.worker.plan.plan import (
    Copy,
    Fill,
    Launch,
    LibraryCall,
    Plan,
    TritonLaunch,
    argument_views,
)
from kernelwright.worker.stages.stand_ins import outline, stand_ins
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
            case LibraryCall(targets=targets):
                given |= {view.buffer for view in targets}
            case TritonLaunch():
                given |= {view.buffer for view in argument_views(step)}
    return any(view.buffer not in given and 0 not in view.shape for view in plan.outputs)


def imitated(subject: Subject, case: str, thorough: bool = True) -> CaseResult | None:
    """A rejection if library steps give the answer to a verified case with copies and fills in place of all kernels, as
    they are or (where `thorough`, once for plans that differ in sizes alone) with steps that do less."""
    plan = subject.plans[case]
    if not plan.library_calls:
        return None
    known = not thorough or outline(plan) in subject.lessened
    for stand_in in stand_ins(plan):
        if stand_in.less and known:
            break
        if leaves_unwritten(stand_in.plan):
            continue
        with subject.leased("necessity"):
            if _is_right(subject, case, stand_in.plan):
                done = "what library steps undo" if stand_in.less else "copy or fill"
                less = f", and with {stand_in.less}," if stand_in.less else ""
                reason = (
                    f"the kernels do nothing but {done}: with copies and fills in their place{less} the output is "
                    "still right, so library steps compute all of it"
                )
                return CaseResult(case=case, status=Status.REJECTED, reason=reason)
    if thorough:
        subject.lessened.add(outline(plan))
    return None


def _is_right(subject: Subject, case: str, plan: Plan) -> bool:
    """On every draw: on some of them an operation may do nothing (a ReLU of positive values)."""
    limit_s = subject.processes.limits.suppressed_s
    draws = subject.processes.ask_judge(Draws(case=case))
    return all(replayed(subject, case, plan, draw, limit_s=limit_s).status is Status.PASSED for draw in draws)
