"""Necessity check: each kernel of a candidate is left out in turn, and the output has to become wrong.

A plan consists of fills, copies, launches of the candidate's own kernels, and library steps. The check finds a kernel
that contributes nothing, because copies, fills or another kernel produce the output. Memory is poisoned before each
replay, so that memory that no step writes is not right by chance.

In a plan with library steps, the kernels together must do more than copy: the output also has to become wrong when
copies and fills replace all kernels (`stand_ins`), as the library steps are or with steps that do less.
"""

from __future__ import annotations

import msgspec

from kernelwright.model import Case, CaseResult, Status
from kernelwright.worker.judge.messages import Draws
from kernelwright.worker.plan.plan import Launch, Plan, written_views
from kernelwright.worker.stages.stand_ins import outline, stand_ins
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import replayed


def leave_out(subject: Subject, case: Case) -> None:
    """Leave out each kernel of a verified case in turn, unless the kernel contributed to an earlier case of this kind.

    A kernel contributes if the call without it is wrong on a draw, fails or does not end.
    """
    plan, idle = subject.plans[case.name], subject.idle
    for kernel in sorted({launch.kernel for launch in plan.launches if 0 not in launch.grid}):
        rest = without(plan, kernel)
        if "" not in (idle.get((kernel, False)), idle.get((kernel, case.derived))):
            with subject.leased("necessity"):
                is_idle = not leaves_unwritten(rest) and _is_right(subject, case.name, rest)
            idle[kernel, case.derived] = case.name if is_idle else ""


def superfluous(subject: Subject) -> CaseResult | None:
    """A rejection if a kernel contributes to no stated case. Derived cases decide for kernels that ran on no other."""
    for (kernel, is_derived), case in sorted(subject.idle.items()):
        if case and not (is_derived and (kernel, False) in subject.idle):
            reason = f"the kernel {kernel} does not contribute: without it the output is still right"
            return CaseResult(case=case, status=Status.REJECTED, reason=reason)
    return None


def without(plan: Plan, kernel: str) -> Plan:
    """The plan without the launches of one kernel."""
    steps = tuple(step for step in plan.steps if not (isinstance(step, Launch) and step.kernel == kernel))
    return msgspec.structs.replace(plan, steps=steps)


def leaves_unwritten(plan: Plan) -> bool:
    """Whether some output surely keeps its poison, because its buffer is scratch memory that no step gets."""
    given = {buffer.id for buffer in plan.buffers if buffer.origin != "scratch"}
    given |= {view.buffer for step in plan.steps for view in written_views(step)}
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
