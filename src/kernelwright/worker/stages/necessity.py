"""Necessity check: each kernel of a candidate is left out in turn, and the output has to become wrong.

A plan consists of fills, copies, launches of the candidate's own kernels, and library steps. The check finds a kernel
that contributes nothing, because copies, fills or another kernel produce the output. Memory is poisoned before each
replay, so that memory that no step writes is not right by chance.

In a plan with library steps, the kernels together must do more than copy: the output also has to become wrong when
copies and fills replace all kernels (`stand_ins`), as the library steps are or with steps that do less.
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
    unknown,
)
from kernelwright.worker.stages.stand_ins import outline, stand_ins
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import replayed


def superfluous(subject: Subject, case: str) -> CaseResult | None:
    """A rejection if the output of a verified case stays right without one of its kernels. Each kernel is tried once
    per candidate.

    A kernel is necessary if the call without it fails or does not end.
    """
    plan = subject.plans[case]
    for kernel in sorted({launch.kernel for launch in plan.launches if 0 not in launch.grid} - subject.necessary):
        rest = without(plan, kernel)
        if not leaves_unwritten(rest):
            with subject.leased("necessity"):
                # Draw 0 poisons memory with NaN, which as an index points just before the buffer.
                result = replayed(subject, case, rest, draw=0, limit_s=subject.processes.limits.suppressed_s)
            if result.status is Status.PASSED:
                reason = f"the kernel {kernel} does not contribute: without it the output is still right"
                return CaseResult(case=case, status=Status.REJECTED, reason=reason)
        subject.necessary.add(kernel)
    return None


def without(plan: Plan, kernel: str) -> Plan:
    """The plan without the launches of one kernel."""
    steps = tuple(step for step in plan.steps if not (isinstance(step, Launch) and step.kernel == kernel))
    return msgspec.structs.replace(plan, steps=steps)


def leaves_unwritten(plan: Plan) -> bool:
    """Whether some output surely keeps its poison, because its buffer is scratch memory that no step gets."""
    given = {buffer.id for buffer in plan.buffers if buffer.origin != "scratch"}
    for step in plan.steps:
        match step:
            case Fill(view=view) | Copy(target=view):
                given.add(view.buffer)
            case LibraryCall(targets=targets):
                given |= {view.buffer for view in targets}
            case TritonLaunch():
                given |= {view.buffer for view in argument_views(step)}
            case _:
                unknown(step)
    return any(view.buffer not in given and 0 not in view.shape for view in plan.outputs)


def imitated(subject: Subject, case: str, thorough: bool = True) -> CaseResult | None:
    """A rejection if the output of a verified case stays right with copies and fills in place of all kernels.

    thorough: also try library steps that do less, once for plans that differ in sizes alone.
    """
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
    """Whether a plan is right on every draw. On some draws an operation may do nothing (a ReLU of positive values)."""
    limit_s = subject.processes.limits.suppressed_s
    draws = subject.processes.ask_judge(Draws(case=case))
    return all(replayed(subject, case, plan, draw, limit_s=limit_s).status is Status.PASSED for draw in draws)
