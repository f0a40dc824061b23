"""Plans that stand in for a plan with library steps: copies and fills in place of its kernels.

Where one of them gives the right answer, library steps compute all of it. What library steps undo is no work of a
kernel's either: a kernel may double its input, and a product with `alpha=0.5` halve it again. So the kernels are
replaced in plans, too, whose other steps do less: with numbers such as `alpha` at 1 or 0, with a step left out, with
another constant in a fill, or with the sum in place of a mean and the minimum in place of a maximum. A change of that
kind never adds work, so a plan in which a kernel computes something is not right after it.
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
)

CONSTANTS = ("0", "1")
"""Fills that may replace a kernel."""

MOST_STAND_INS = 200
"""With the other steps as they are. Two kernels of three tensors make about 14 ways each, together 196. A replay
without kernels takes milliseconds."""

MOST_LESSENED = 400
"""With other steps that do less."""

WAYS_FIRST = 30
"""Changes of other steps that are tried before a kernel is replaced in its next way."""

MOST_COMBINED = 100_000
"""Of which the likeliest are tried."""

OTHERWISE = {
    "mean.default": "sum.default", "mean.dim": "sum.dim_IntList", "amax.default": "amin.default",
    "amin.default": "amax.default", "max.default": "min.default", "min.default": "max.default",
    "max.dim": "min.dim", "min.dim": "max.dim", "argmax.default": "argmin.default", "argmin.default": "argmax.default",
    "cummax.default": "cummin.default", "cummin.default": "cummax.default", "all.default": "any.default",
    "any.default": "all.default", "all.dim": "any.dim", "any.dim": "all.dim",
}  # fmt: skip
"""Operators of which a kernel that scales or negates makes the other, with equal arguments and no more work."""

TURNED = ("descending", "largest")
"""Arguments of which it makes the opposite."""

NUMBERS = {"alpha": ("1", "0"), "beta": ("1", "0"), "scale": ("", "1")}
"""Factors within an operator, and what they are where they do less; "" for the operator's own."""


Outline = tuple[tuple[object, ...], ...]
"""A plan apart from its sizes; hashable."""


@dataclass(frozen=True)
class StandIn:
    """A plan without launches. less: what its library steps do otherwise, "" where they are as they were."""

    plan: Plan
    less: str = ""


@dataclass(frozen=True)
class Way:
    """How a launch is replaced. source: the position of the tensor argument whose values are taken, a constant, or None
    for nothing. order: of the source's dimensions; () as they are. target: the position of the tensor argument that
    gets them; None for every tensor that the launch is taken to write."""

    source: int | str | None
    order: tuple[int, ...] = ()
    target: int | None = None


@dataclass(frozen=True)
class Less:
    """Other steps in place of some, by position. words: a description."""

    words: str = ""
    steps: dict[int, tuple[PlanStep, ...]] = field(default_factory=dict)


def stand_ins(plan: Plan) -> Iterator[StandIn]:
    """The plan with copies and fills in place of every launch, one for each way to do so, the likeliest first: at most
    MOST_STAND_INS with the other steps as they are, and MOST_LESSENED with some that do less.

    A kernel is replaced in the same way wherever it is launched.
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
    """What a plan does, apart from sizes: plans of two cases with the same outline are lessened in the same ways."""
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
    return tuple(found)


def lessened(plan: Plan) -> list[Less]:
    """Every factor at 1; each change alone, with the factors at 1 and as they are; then two at a time."""
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
    """The later ones first, where two replace the same step."""
    steps = {position: steps for part in parts for position, steps in part.steps.items()}
    return Less(" and ".join(part.words for part in parts if part.words), steps)


def _less(step: PlanStep) -> Iterator[tuple[str, tuple[PlanStep, ...]]]:
    """What may replace a step that is no launch, with a description."""
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


def _plain(call: LibraryCall) -> LibraryCall:
    """With every factor at 1, or as the operator has it."""
    arguments = {
        name: _number(NUMBERS[name][0])
        if name in NUMBERS and isinstance(value, Value) and not same(value, _number(NUMBERS[name][0]))
        else value
        for name, value in call.arguments.items()
    }
    return msgspec.structs.replace(call, arguments=arguments)


def _otherwise(call: LibraryCall) -> Iterator[tuple[str, LibraryCall]]:
    """With one of its numbers or flags changed, and the operator that is its counterpart."""
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
    """Whether both say the same number."""
    numbers = ("int", "float")
    if one.kind in numbers and other.kind in numbers:
        return float(one.text) == float(other.text)
    return (one.kind, one.text) == (other.kind, other.text)


def _left_out(call: LibraryCall) -> Iterator[tuple[PlanStep, ...]]:
    """Each of its tensors in place of its first result, as far as it fits; zeros in place of others."""
    first, *others = call.targets
    rest = tuple(Fill(view=target, value="0") for target in others)
    given = [argument.view for argument in call.arguments.values() if isinstance(argument, Tensor)]
    for source in dict.fromkeys(fitted for view in given for fitted in _fitted(view, first)):
        if copied := _copied(first, source):
            yield (*copied, *rest)


def _fitted(source: View, target: View) -> Iterator[View]:
    """The tensor itself where it has no more dimensions than the target; else the first and the last of what lies
    along those that a reduction takes away."""
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
