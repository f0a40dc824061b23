"""Plans whose stores cannot cover an output, found from the recorded launches: no case has to run."""

from __future__ import annotations

import math

from kernelwright.worker.plan.plan import (
    ITEMSIZE,
    Copy,
    Fill,
    LibraryCall,
    Plan,
    PlanStep,
    TritonLaunch,
    Value,
    leaves,
    nbytes,
    overlaps_itself,
    unknown,
)
from kernelwright.worker.plan.work import WorkOf


def uncovered(plan: Plan, work_of: WorkOf) -> str:
    """Why the steps of a plan cannot write all elements of an output in new memory; "" if they may."""
    new = {buffer.id for buffer in plan.buffers if buffer.origin == "scratch"}
    for number, view in enumerate(plan.outputs):
        if view.buffer not in new or overlaps_itself(view):  # then fewer stores are enough
            continue
        stored = sum((_stored(step, view.buffer, work_of) for step in plan.steps), 0.0)
        if stored < nbytes(view):
            blocks = f"all blocks that the launches store in its memory hold {int(stored) // ITEMSIZE[view.dtype]:,}"
            return f"output {number} has {math.prod(view.shape):,} elements, and {blocks}"
    return ""


def _stored(step: PlanStep, buffer: int, work_of: WorkOf) -> float:
    """Bytes that a step stores in a buffer at most."""
    match step:
        case Fill(view=view) | Copy(target=view):
            return nbytes(view) if view.buffer == buffer else 0
        case LibraryCall(targets=targets):
            return sum(nbytes(view) for view in targets if view.buffer == buffer)
        case TritonLaunch():
            work = work_of(step)
            if work is None:
                return math.inf
            there = {name for name, one in leaves(step.arguments).items()
                     if not isinstance(one, Value) and one.view.buffer == buffer}  # fmt: skip
            return sum(size for name, size in work.stored.items() if name in there or not name)
        case _:
            unknown(step)
