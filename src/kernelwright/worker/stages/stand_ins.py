"""Stand-ins for a plan with library steps: the same plan with copies and fills in place of its kernels.

If the output of a stand-in is right, library steps compute all of it. Work that a library step undoes does not count as
a kernel's: a kernel may double its input, and a product with `alpha=0.5` halve it again. So some stand-ins also have
other steps that do less: numbers such as `alpha` at 1 or 0, a step left out, another constant in a fill, a sum in place
of a mean, or a minimum in place of a maximum. Such a change never adds work, so if a kernel really computes something,
the output of a stand-in is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from kernelwright.worker.plan.operators import short
from kernelwright.worker.plan.plan import (
    Copy,
    Fill,
    Launch,
    LibraryCall,
    Plan,
    PlanStep,
    Tensor,
    TritonLaunch,
    Value,
    View,
    argument_views,
    unknown,
    written_views,
)

CONSTANTS = ("0", "1")
"""Fills that may replace a kernel."""

MOST_STAND_INS = 200
"""Maximum number of stand-ins with the other steps unchanged. Two kernels of three tensors have about 14 ways each, so
196 together. A replay without kernels takes milliseconds."""

MOST_LESSENED = 400
"""Maximum number of stand-ins with other steps that do less."""

WAYS_FIRST = 30
"""Number of changes of other steps that are tried before a kernel is replaced in its next way."""

MOST_COMBINED = 100_000
"""Maximum number of combinations that are ranked; the likeliest of them are tried."""

OTHERWISE = {
    "mean.default": "sum.default", "mean.dim": "sum.dim_IntList", "amax.default": "amin.default",
    "amin.default": "amax.default", "max.default": "min.default", "min.default": "max.default",
    "max.dim": "min.dim", "min.dim": "max.dim", "argmax.default": "argmin.default", "argmin.default": "argmax.default",
    "cummax.default": "cummin.default", "cummin.default": "cummax.default", "all.default": "any.default",
    "any.default": "all.default", "all.dim": "any.dim", "any.dim": "all.dim",
}  # fmt: skip
"""Pairs of operators with the same arguments and the same work, where scaling or negating turns one into the other."""

TURNED = ("descending", "largest")
"""Boolean arguments whose opposite a negating kernel produces."""

NUMBERS = {"alpha": ("1", "0"), "beta": ("1", "0"), "scale": ("", "1")}
"""Factors of an operator by argument name, and their values with less work; "" for the operator's default (None)."""


Outline = tuple[tuple[object, ...], ...]
"""A plan without its sizes; hashable."""


@dataclass(frozen=True)
class StandIn:
    """A plan without launches. less: description of its changed steps, "" if only the kernels were replaced."""

    plan: Plan
    less: str = ""


@dataclass(frozen=True)
class Way:
    """How a launch is replaced. source: position of the tensor argument to copy from, a constant to fill with, or None
    for no replacement. order: permutation of the source's dimensions; () for none. target: position of the tensor
    argument to write; None for every tensor that the launch presumably writes."""

    source: int | str | None
    order: tuple[int, ...] = ()
    target: int | None = None


@dataclass(frozen=True)
class Less:
    """Replacements of steps that are no launches, by position in the plan. words: a description."""

    words: str = ""
    steps: dict[int, tuple[PlanStep, ...]] = field(default_factory=dict)


def stand_ins(plan: Plan) -> Iterator[StandIn]:
    """All stand-ins of a plan, the likeliest first: at most MOST_STAND_INS with the other steps unchanged, then at most
    MOST_LESSENED with some steps that do less.

    All launches of a kernel are replaced in the same way.
    """
    written = _written(plan)
    ways: dict[str, list[Way]] = {}
    for position, step in enumerate(plan.steps):
        if isinstance(step, Launch) and step.kernel not in ways:
            ways[step.kernel] = _ways(step, written[position])
    for lesser, most in (([Less()], MOST_STAND_INS), (lessened(plan)[:MOST_LESSENED], MOST_LESSENED)):
        choices = (*(range(len(own)) for own in ways.values()), range(len(lesser)))
        every = itertools.islice(itertools.product(*choices), MOST_COMBINED)
        for *chosen, which in sorted(every, key=lambda one: WAYS_FIRST * sum(one[:-1]) + one[-1])[:most]:
            less = lesser[which]
            way = {kernel: own[index] for (kernel, own), index in zip(ways.items(), chosen, strict=True)}
            steps = [
                new for position, step in enumerate(plan.steps)
                for new in (
                    _replaced(step, written[position], way[step.kernel]) if isinstance(step, Launch)
                    else less.steps.get(position, (step,))
                )
            ]  # fmt: skip
            yield StandIn(msgspec.structs.replace(plan, steps=tuple(steps)), less.words)


def outline(plan: Plan) -> Outline:
    """The steps of a plan without sizes. Plans with the same outline have the same changes in `lessened`."""
    found: list[tuple[object, ...]] = []
    for step in plan.steps:
        match step:
            case Fill(view=view, value=value):
                found.append(("fill", view.buffer, value))
            case Copy(target=target, source=source):
                found.append(("copy", target.buffer, source.buffer))
            case LibraryCall(operator=operator, arguments=arguments, targets=targets):
                said = [value for value in arguments.values() if isinstance(value, Value) and value.kind != "int"]
                given = [view.buffer for view in (*targets, *argument_views(step))]
                found.append((operator, *given, *((value.kind, value.text) for value in said)))
            case TritonLaunch(kernel=kernel):
                found.append((kernel, 0 in step.grid, *(view.buffer for view in argument_views(step))))
            case _:
                unknown(step)
    return tuple(found)


def lessened(plan: Plan) -> list[Less]:
    """Changes that make steps other than launches do less: all factors at 1; then each change alone, with the factors
    at 1 and unchanged; then two changes at a time."""
    factors: dict[int, tuple[PlanStep, ...]] = {
        position: (plain,)
        for position, step in enumerate(plan.steps)
        if isinstance(step, LibraryCall) and (plain := _plain(step)) != step
    }
    at_1 = [Less("the factors in its library steps at 1", factors)] if factors else []
    singles, pairs = [*at_1], []
    for base in (*at_1, Less()):
        changes = [
            Less(words, {position: steps})
            for position, step in enumerate(plan.steps)
            for words, steps in _less(base.steps.get(position, (step,))[0])
        ]
        two = itertools.islice(itertools.combinations(changes, 2), MOST_LESSENED)
        singles += [_together(base, one) for one in changes]
        pairs += [_together(base, one, other) for one, other in two if one.steps.keys() != other.steps.keys()]
    return [*singles, *pairs]


def _together(*parts: Less) -> Less:
    """Several changes as one. If two replace the same step, the later one counts."""
    steps = {position: steps for part in parts for position, steps in part.steps.items()}
    return Less(" and ".join(part.words for part in parts if part.words), steps)


def _less(step: PlanStep) -> Iterator[tuple[str, tuple[PlanStep, ...]]]:
    """Replacements of a step that is no launch, each with a description."""
    match step:
        case Fill(view=view, value=value):
            for constant in CONSTANTS:
                if value != constant:
                    yield f"a fill of {constant}", (Fill(view=view, value=constant),)
        case Copy(target=target):
            yield "a copy left out", (Fill(view=target, value="0"),)
        case LibraryCall():
            yield from ((words, (call,)) for words, call in _otherwise(step))
            yield from ((f"{short(step.operator)} left out", steps) for steps in _left_out(step))
        case TritonLaunch():
            pass


def _plain(call: LibraryCall) -> LibraryCall:
    """The call with every factor at 1 or at the operator's default."""
    arguments = {
        name: _number(NUMBERS[name][0])
        if name in NUMBERS and isinstance(value, Value) and not same(value, _number(NUMBERS[name][0]))
        else value
        for name, value in call.arguments.items()
    }
    return msgspec.structs.replace(call, arguments=arguments)


def _otherwise(call: LibraryCall) -> Iterator[tuple[str, LibraryCall]]:
    """Variants of a call, with descriptions: one number or flag changed, or the counterpart of the operator."""
    name = short(call.operator)
    for own, argument in call.arguments.items():
        values = [_number(text) for text in NUMBERS.get(own, ())]
        if own in TURNED and isinstance(argument, Value):
            values = [Value(kind="bool", text=str(argument.text != "True"))]
        for value in values:
            if not (isinstance(argument, Value) and same(argument, value)):
                arguments = {**call.arguments, own: value}
                yield f"{name} with {own} = {value.text or None}", msgspec.structs.replace(call, arguments=arguments)
    if call.operator in OTHERWISE:
        other = OTHERWISE[call.operator]
        yield f"{short(other)} in place of {name}", msgspec.structs.replace(call, operator=other)


def _number(text: str) -> Value:
    return Value(kind="int", text=text) if text else Value(kind="none")


def same(one: Value, other: Value) -> bool:
    """Whether two values are equal; an int and a float may be."""
    numbers = ("int", "float")
    if one.kind in numbers and other.kind in numbers:
        return float(one.text) == float(other.text)
    return (one.kind, one.text) == (other.kind, other.text)


def _left_out(call: LibraryCall) -> Iterator[tuple[PlanStep, ...]]:
    """Steps that replace a call: a copy of one of its tensor arguments to its first result, as far as shapes fit, and
    zeros in the other results."""
    first, *others = call.targets
    rest = tuple(Fill(view=target, value="0") for target in others)
    given = [argument.view for argument in call.arguments.values() if isinstance(argument, Tensor)]
    for source in dict.fromkeys(fitted for view in given for fitted in _fitted(view, first)):
        if copied := _copied(first, source):
            yield (*copied, *rest)


def _fitted(source: View, target: View) -> Iterator[View]:
    """The source itself if it has no more dimensions than the target; otherwise the first and the last element along
    the dimensions that a reduction would remove."""
    more = len(source.shape) - len(target.shape)
    if more <= 0 or 0 in source.shape:
        yield source
        return
    for gone in itertools.combinations(range(len(source.shape)), more):
        kept = [dim for dim in range(len(source.shape)) if dim not in gone]
        if tuple(source.shape[dim] for dim in kept) == target.shape:
            shape, stride = (tuple(sizes[dim] for dim in kept) for sizes in (source.shape, source.stride))
            for last in (False, True):
                offset = source.offset + last * sum(source.stride[dim] * (source.shape[dim] - 1) for dim in gone)
                yield msgspec.structs.replace(source, shape=shape, stride=stride, offset=offset)


def _written(plan: Plan) -> list[set[int]]:
    """For each step, the buffers that a launch there presumably writes: those of its scratch buffers that contain
    nothing but fills so far, or all its scratch buffers if there is none of that kind."""
    scratch = {buffer.id for buffer in plan.buffers if buffer.origin == "scratch"}
    fresh, found = set(scratch), []
    for step in plan.steps:
        given = {view.buffer for view in written_views(step)}
        found.append(given & fresh or given & scratch)
        fresh -= set() if isinstance(step, Fill) else given
    return found


def _ways(launch: Launch, written: set[int]) -> list[Way]:
    """The ways to replace a launch, the likeliest first; those with the same resulting steps only once."""
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
    """All permutations of up to four dimensions except the identity; none for a higher rank."""
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
    """Steps that copy a source to a target as far as their shapes fit: equal shapes, a reshape, a broadcast, or the
    part that both share with zeros elsewhere. Empty if nothing fits."""
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
