"""Checks of a plan's library steps: the operators that the problem allows, and the memory that they read and write.

In mode "finish" they may read only memory that a kernel of the candidate wrote. A kernel counts as writing all memory
whose pointer it gets, except inputs. Memory to which host code copied an input still counts as the input, because it is
not known whether a kernel changed it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.worker.plan.operators import BUDGET_SHARE, DROPOUT, MOST_STEPS, NAME, OPERATORS, Kind, is_whole, short
from kernelwright.worker.plan.plan import (
    ITEMSIZE,
    Argument,
    Buffer,
    Copy,
    Descriptor,
    Fill,
    LibraryCall,
    Plan,
    Tensor,
    TritonLaunch,
    Tuple,
    Value,
    View,
    argument_views,
    end_bytes,
    nbytes,
    overlaps_itself,
)


@dataclass(frozen=True)
class Library:
    """The library steps that a problem allows on a case. mode: "none", "finish" or "any". budget_bytes: limit on the
    bytes that all library steps together read and write; None for no limit."""

    mode: str = "none"
    budget_bytes: int | None = None


NO_LIBRARY = Library()

NO_DROPOUT = (Value(kind="float", text="0.0"), Value(kind="int", text="0"))


def budget(mode: str, compulsory_bytes: int, is_small: bool) -> int | None:
    """`Library.budget_bytes` of a case. Small cases have no limit: they are never timed, and their partial results are
    large compared with their inputs and outputs."""
    return None if mode != "finish" or is_small else compulsory_bytes // BUDGET_SHARE


def library_faults(plan: Plan, allowed: Library) -> list[str]:
    """A message for each fault. The caller has checked that every view of the plan lies inside its buffer."""
    calls = plan.library_calls
    if not calls:
        return []
    if allowed.mode == "none":
        return [f"the library step {short(calls[0].operator)[:60]}, which the problem does not allow (LIBRARY)"]
    found = [why for call in calls for why in _call(call, allowed.mode)]
    most = MOST_STEPS.get(allowed.mode, 0)
    if len(calls) > most:
        found.append(f"{len(calls)} library steps, at most {most} are allowed with LIBRARY = {allowed.mode!r}")
    if found:
        return found
    buffers = {buffer.id: buffer for buffer in plan.buffers}
    found += [why for call in calls for why in _memory(call, buffers)]
    if allowed.mode == "finish":
        found += _not_written_by_kernels(plan, buffers)
    moved = sum(nbytes(view) for call in calls for view in (*argument_views(call), *call.targets))
    if allowed.budget_bytes is not None and moved > allowed.budget_bytes:
        found.append(
            f"library steps read and write {moved} bytes, and LIBRARY = 'finish' allows {allowed.budget_bytes} "
            f"(1/{BUDGET_SHARE} of what the problem has to read and write): let a kernel reduce further first"
        )
    return found


def _call(call: LibraryCall, mode: str) -> Iterator[str]:
    """Faults of a step's operator and arguments."""
    name = short(call.operator)
    if any(call.arguments.get(one, NO_DROPOUT[0]) not in NO_DROPOUT for one in DROPOUT):
        yield f"{name} with dropout draws random numbers"
    if mode == "any":
        if not NAME.fullmatch(call.operator):
            yield f"the library step {call.operator[:60]!r}, which is no name of an operator"
        yield from (f"{name}'s argument {own[:40]} is no tensor, number or word" for own, argument
                    in call.arguments.items() if not _is_data(argument))  # fmt: skip
        return
    operator = OPERATORS.get(call.operator)
    if operator is None:
        yield f"the library step {call.operator[:60]!r}, which LIBRARY = {mode!r} does not allow"
        return
    if set(call.arguments) != set(operator.parameters):
        yield f"{name} with other arguments than it has"
        return
    for own, parameter in operator.parameters.items():
        argument = call.arguments[own]
        is_none = isinstance(argument, Value) and argument.kind == "none"
        if not ((is_none and parameter.optional) or _fits(argument, parameter.kind)):
            yield f"{name}'s argument {own} is no {parameter.kind}"
    if operator.is_arithmetic and not all(
        is_whole([view.dtype for view in argument_views(call)], target.shape) for target in call.targets
    ):
        yield f"{name} of many floating-point elements: a library step may compute whole numbers and single elements"


def _fits(argument: Argument, kind: Kind) -> bool:
    match argument:
        case Tensor():
            return kind in ("tensor", "operand")
        case Tuple(items=items):
            return kind == "ints" and all(_fits(item, "int") for item in items)
        case Value(kind="int", text=text):
            is_int = (
                text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 19 and abs(int(text)) < 2**63
            )
            return kind in ("int", "number", "operand") and is_int
        case Value(kind="bool", text=text):
            return kind in ("bool", "number", "operand") and text in ("True", "False")
        case Value(kind="float", text=text):
            return kind in ("number", "operand") and is_float(text)
        case Value(kind="dtype", text=text):
            return kind == "dtype" and text in ITEMSIZE
        case Descriptor() | Value():
            return False


def _is_data(argument: Argument) -> bool:
    """Whether a step may take it in mode "any". The process that replays it knows the operator's schema."""
    match argument:
        case Tuple(items=items):
            return all(map(_is_data, items))
        case Value(kind="none"):
            return True
        case Value(kind="str", text=text):
            return len(text) <= 40 and text[1:-1].isidentifier() and text == repr(text[1:-1])
        case _:
            return any(_fits(argument, kind) for kind in ("operand", "dtype"))


def is_float(text: str) -> bool:
    """Whether `text` is an int or a float as Python prints it."""
    try:
        float(text)
    except ValueError:
        return False
    return len(text) <= 40 and text == text.strip() and "_" not in text


def _memory(call: LibraryCall, buffers: dict[int, Buffer]) -> Iterator[str]:
    """Faults of a step's targets: they have to be scratch memory that the step does not read, each element once."""
    name = short(call.operator)
    for position, target in enumerate(call.targets):
        if buffers[target.buffer].origin != "scratch":
            yield f"{name} writes into the {buffers[target.buffer].origin} {buffers[target.buffer].name!r}"
        others = (*argument_views(call), *call.targets[:position])
        if any(_overlap(target, other) for other in others):
            yield f"{name} writes to memory that it reads or writes otherwise, too"
        if overlaps_itself(target):
            yield f"{name} writes to a tensor whose elements share memory"


def _interval(view: View) -> tuple[int, int]:
    """First byte of a view in its buffer, and the byte after its last."""
    return view.offset * ITEMSIZE[view.dtype], end_bytes(view)


def _overlap(one: View, other: View) -> bool:
    (start, end), (first, last) = _interval(one), _interval(other)
    return one.buffer == other.buffer and max(start, first) < min(end, last)


def _not_written_by_kernels(plan: Plan, buffers: dict[int, Buffer]) -> Iterator[str]:
    """Faults of library steps that read memory which no kernel of the candidate wrote."""
    written: set[int] = set()
    copied: dict[int, list[View]] = defaultdict(list)

    def foreign(view: View) -> str:
        """The origin of a view that no kernel wrote; "" if a kernel wrote it."""
        buffer = buffers[view.buffer]
        if buffer.origin != "scratch":
            return f"the {buffer.origin} {buffer.name!r}"
        if any(_overlap(view, other) for other in copied[view.buffer]):
            return "what host code copied from an input"
        return "" if view.buffer in written else "memory that no kernel wrote"

    for step in plan.steps:
        match step:
            case TritonLaunch():
                if 0 not in step.grid:
                    written |= {view.buffer for view in argument_views(step)}
            case Copy(target=target, source=source):
                if foreign(source):
                    copied[target.buffer].append(target)
                else:
                    written.add(target.buffer)
            case LibraryCall():
                why = [why for view in argument_views(step) if 0 not in view.shape and (why := foreign(view))]
                if why:
                    yield (
                        f"{short(step.operator)} reads {why[0]}: with LIBRARY = 'finish' a library step reads only "
                        "what a kernel of the candidate wrote to memory that the candidate allocated"
                    )
                written |= {target.buffer for target in step.targets}
            case Fill():
                pass
