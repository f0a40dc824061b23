"""Does each of a candidate's kernels contribute? Each is left out in turn, and the answer has to become wrong.

By construction a plan's device time is all fills, copies and launches of the candidate's own kernels: nothing of the
framework's computes, library steps aside. What is left to catch is a kernel that only decorates, while copies, fills or
another kernel give the answer. Memory is poisoned before, so that what nobody writes is not right by chance.

Beside library steps the kernels together have to do more than copy: with copies and fills in place of all of them
(`stand_ins`), the answer has to become wrong, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from kernelwright.model import CaseResult, Status
from kernelwright.worker.judge.messages import Draws
from kernelwright.worker.plan.plan import (
    Copy,
    Fill,
    Launch,
    LibraryCall,
    Plan,
    PlanStep,
    TritonLaunch,
    View,
    argument_views,
)
from kernelwright.worker.stages.subject import Subject
from kernelwright.worker.stages.verify import replayed

CONSTANTS = ("0", "1")
"""Fills that may stand for a kernel."""

MOST_STAND_INS = 200
"""Two kernels of three tensors make about 14 ways each, together 196. A replay without kernels takes milliseconds."""

MOST_COMBINED = 100_000
"""Of which the likeliest are tried."""


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


def imitated(subject: Subject, case: str) -> CaseResult | None:
    """A rejection if library steps give the answer to a verified case with copies and fills in place of all kernels."""
    plan = subject.plans[case]
    if not plan.library_calls:
        return None
    for stand_in in stand_ins(plan):
        if leaves_unwritten(stand_in):
            continue
        with subject.leased("necessity"):
            if _is_right(subject, case, stand_in):
                reason = (
                    "the kernels do nothing but copy or fill: with copies and fills in their place the output is still "
                    "right, so library steps compute all of it"
                )
                return CaseResult(case=case, status=Status.REJECTED, reason=reason)
    return None


def _is_right(subject: Subject, case: str, plan: Plan) -> bool:
    """On every draw: on some of them an operation may do nothing (a ReLU of positive values)."""
    limit_s = subject.processes.limits.suppressed_s
    draws = subject.processes.ask_judge(Draws(case=case))
    return all(replayed(subject, case, plan, draw, limit_s=limit_s).status is Status.PASSED for draw in draws)


@dataclass(frozen=True)
class Way:
    """How a launch is replaced. source: the position of the tensor argument whose values are taken, a constant, or None
    for nothing. order: of the source's dimensions; () as they are. target: the position of the tensor argument that
    gets them; None for every tensor that the launch is taken to write."""

    source: int | str | None
    order: tuple[int, ...] = ()
    target: int | None = None


def stand_ins(plan: Plan) -> Iterator[Plan]:
    """The plan with copies and fills in place of every launch, one for each way to do so, MOST_STAND_INS at most.

    A kernel is replaced in the same way wherever it is launched.
    """
    written = _written(plan)
    ways: dict[str, list[Way]] = {}
    for position, step in enumerate(plan.steps):
        if isinstance(step, Launch) and step.kernel not in ways:
            ways[step.kernel] = _ways(step, written[position])
    every = itertools.islice(itertools.product(*(range(len(own)) for own in ways.values())), MOST_COMBINED)
    for chosen in sorted(every, key=sum)[:MOST_STAND_INS]:
        way = {kernel: own[index] for (kernel, own), index in zip(ways.items(), chosen, strict=True)}
        steps = [
            new for position, step in enumerate(plan.steps)
            for new in (_replaced(step, written[position], way[step.kernel]) if isinstance(step, Launch) else [step])
        ]  # fmt: skip
        yield msgspec.structs.replace(plan, steps=tuple(steps))


def _written(plan: Plan) -> list[set[int]]:
    """For each step the buffers that a launch there is taken to write: scratch memory that holds nothing but fills;
    where it gets none of that, all scratch memory."""
    scratch = {buffer.id for buffer in plan.buffers if buffer.origin == "scratch"}
    fresh, found = set(scratch), []
    for step in plan.steps:
        given: set[int] = set()
        match step:
            case Copy(target=target):
                fresh.discard(target.buffer)
            case LibraryCall(targets=targets):
                fresh -= {view.buffer for view in targets}
            case TritonLaunch():
                given = {view.buffer for view in argument_views(step)}
            case Fill():
                pass
        found.append(given & fresh or given & scratch)
        fresh -= given
    return found


def _ways(launch: Launch, written: set[int]) -> list[Way]:
    """The likeliest first; one for each different outcome."""
    given = argument_views(launch)
    sources = [(place, order) for place, view in enumerate(given) for order in ((), *_orders(len(view.shape)))]
    copies = [Way(place, order) for place, order in sources if not order]
    permuted = [Way(place, order) for place, order in sources if order]
    fills = [Way(constant) for constant in CONSTANTS]
    used = [place for place, view in enumerate(given) if view.buffer not in written]
    others = [Way(way.source, way.order, place) for way in (*copies, *fills, *permuted) for place in used]
    found: dict[tuple[PlanStep, ...], Way] = {}
    for way in (*copies, fills[0], Way(None), *fills[1:], *permuted, *others):
        found.setdefault(tuple(_replaced(launch, written, way)), way)
    return list(found.values())


def _orders(rank: int) -> Iterator[tuple[int, ...]]:
    """Other orders of up to four dimensions."""
    return itertools.islice(itertools.permutations(range(rank)), 1, None) if rank <= 4 else iter(())


def _replaced(launch: Launch, written: set[int], way: Way) -> list[PlanStep]:
    given = argument_views(launch)
    if 0 in launch.grid or way.source is None or (isinstance(way.source, int) and way.source >= len(given)):
        return []
    if way.target is None:
        targets = [view for view in given if view.buffer in written]
    else:
        targets = given[way.target : way.target + 1]
    if isinstance(way.source, str):
        return [Fill(view=view, value=way.source) for view in targets]
    source = given[way.source]
    if len(way.order) == len(source.shape):
        shape, stride = (tuple(sizes[dim] for dim in way.order) for sizes in (source.shape, source.stride))
        source = msgspec.structs.replace(source, shape=shape, stride=stride)
    return [step for target in targets if target.buffer != source.buffer for step in _copied(target, source)]


def _copied(target: View, source: View) -> list[PlanStep]:
    """The source's values in the target as far as their shapes fit: by elements, in the same order, repeated, or the
    part that they share."""
    shape = target.shape
    if source.shape == shape:
        return [Copy(target=target, source=source)]
    if math.prod(source.shape) == math.prod(shape):
        if target.stride == dense(shape):
            reshaped = msgspec.structs.replace(target, shape=source.shape, stride=dense(source.shape))
            return [Copy(target=reshaped, source=source)]
        if source.stride == dense(source.shape):
            return [Copy(target=target, source=msgspec.structs.replace(source, shape=shape, stride=dense(shape)))]
        return []
    added = len(shape) - len(source.shape)
    sizes, strides = (1,) * added + source.shape, (0,) * added + source.stride
    if added >= 0 and all(size in (1, wanted) for size, wanted in zip(sizes, shape, strict=True)):
        stride = tuple(0 if size == 1 else step for size, step in zip(sizes, strides, strict=True))
        return [Copy(target=target, source=msgspec.structs.replace(source, shape=shape, stride=stride))]
    if added == 0:
        shared = tuple(map(min, shape, source.shape))
        part, of = (msgspec.structs.replace(view, shape=shared) for view in (target, source))
        return [Fill(view=target, value="0"), Copy(target=part, source=of)]
    return []


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))
