"""Plans whose stores cannot cover an output, found from the recorded launches: no case has to run."""

from __future__ import annotations

import math

from kernelwright.worker.plan.plan import (
    Copy,
    Fill,
    LibraryCall,
    Plan,
    PlanStep,
    TritonLaunch,
    Value,
    View,
    itemsize,
    leaves,
    unknown,
)
from kernelwright.worker.plan.work import WorkOf


def uncovered(plan: Plan, work_of: WorkOf) -> str:
    """Why the steps of a plan cannot write all elements of an output in new memory; "" if they may."""
    new = {buffer.id for buffer in plan.buffers if buffer.origin == "scratch"}
    for number, view in enumerate(plan.outputs):
        if view.buffer not in new or _overlaps(view):
            continue
        stored = sum((_stored(step, view.buffer, work_of) for step in plan.steps), 0.0)
        if stored < _bytes_of(view):
            blocks = f"all blocks that the launches store in its memory hold {int(stored) // itemsize(view.dtype):,}"
            return f"output {number} has {math.prod(view.shape):,} elements, and {blocks}"
    return ""


def _stored(step: PlanStep, buffer: int, work_of: WorkOf) -> float:
    """Bytes that a step stores in a buffer at most."""
    match step:
        case Fill(view=view) | Copy(target=view):
            return _bytes_of(view) if view.buffer == buffer else 0
        case LibraryCall(targets=targets):
            return sum(_bytes_of(view) for view in targets if view.buffer == buffer)
        case TritonLaunch():
            work = work_of(step)
            if work is None:
                return math.inf
            there = {name for name, one in leaves(step.arguments).items()
                     if not isinstance(one, Value) and one.view.buffer == buffer}  # fmt: skip
            return sum(size for name, size in work.stored.items() if name in there or not name)
        case _:
            unknown(step)


def _bytes_of(view: View) -> int:
    return math.prod(view.shape) * itemsize(view.dtype)


def _overlaps(view: View) -> bool:
    """Whether two elements of a view may be one: then fewer stores are enough."""
    reach = 1
    for stride, size in sorted(zip(view.stride, view.shape, strict=True)):
        if size > 1 and stride < reach:
            return True
        reach += (size - 1) * stride
    return False
