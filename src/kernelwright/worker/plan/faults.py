"""Checks of a launch plan before it is replayed.

The recorder that wrote the plan ran the candidate's code, so the plan is not trusted: every number, name and option is
checked here before a trusted process uses it. A plan without faults may still compute wrong values, which the judge
finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelwright.worker.plan.library_faults import NO_LIBRARY, Library, is_float, library_faults
from kernelwright.worker.plan.plan import (
    ITEMSIZE,
    MAX_STEPS,
    OPTIONS,
    Argument,
    Buffer,
    Copy,
    Descriptor,
    Fill,
    LibraryCall,
    Plan,
    PlanStep,
    Tensor,
    TritonLaunch,
    Tuple,
    Value,
    View,
    end_bytes,
    forward_alone,
    nbytes,
    unknown,
    views,
)

MAX_BYTES = 1 << 44
"""Largest size that is accepted. No device has 16 TiB, and larger numbers could overflow in later arithmetic."""

MAX_GRID = (2**31 - 1, 65535, 65535)
"""Largest grid. CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability"."""

MAX_NESTING = 8
"""Most levels of tuples in tuples. Triton's own kernels use two."""

DTYPES = frozenset({"void", "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp16",
                    "bf16", "fp32", "fp64", "fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16"})  # fmt: skip
"""Names that `triton.language.dtype` knows."""


@dataclass(frozen=True)
class Expected:
    """The kernels and tensors that a plan may refer to. kernels: of each kernel, whether each parameter is a constexpr.
    given: storage bytes of every input and parameter, by (origin, name). mutates: whether forward changes inputs in
    place, so that a call may return nothing. library: the library steps that the problem allows on the case."""

    kernels: dict[str, dict[str, bool]]
    given: dict[tuple[str, str], int]
    mutates: bool = False
    library: Library = NO_LIBRARY
    gradients: tuple[str, ...] = ()
    """Inputs that only the backward receives."""


def faults(plan: Plan, expected: Expected) -> list[str]:
    """A message for each fault of `plan`; [] if it may be replayed."""
    found = list(_buffers(plan, expected))
    is_asked = expected.mutates or any(0 not in view.shape for view in plan.outputs)
    if is_asked and not any(0 not in launch.grid for launch in plan.launches):
        found.append("no kernel is launched on any block")
    if not plan.outputs and not expected.mutates:
        found.append("nothing is returned")
    if len(plan.steps) > MAX_STEPS:
        found.append(f"{len(plan.steps)} steps, at most {MAX_STEPS} are allowed")
    buffers = {buffer.id: buffer for buffer in plan.buffers}
    found += [why for view in views(plan) if (why := _view(view, buffers))]
    found += [why for step in plan.steps for why in _step(step, expected)]
    return found or [*_forward(plan, expected), *library_faults(plan, expected.library)]


def _forward(plan: Plan, expected: Expected) -> Iterator[str]:
    """Faults of the split into forward and backward. The forward must be a complete plan by itself."""
    if (plan.forward is None) is bool(expected.gradients):
        yield "a forward and a backward were asked for" if expected.gradients else "no backward was asked for"
    elif plan.forward is not None:
        part = plan.forward
        if not (0 <= part.steps <= len(plan.steps) and 0 < part.outputs <= len(plan.outputs)):
            yield f"a forward of {part.steps} steps and {part.outputs} outputs"
        taken = {buffer.id for buffer in plan.buffers if buffer.origin == "input" and buffer.name in expected.gradients}
        if any(view.buffer in taken for view in views(forward_alone(plan, part))):
            yield "the forward reads a gradient of its outputs"


def _step(step: PlanStep, expected: Expected) -> Iterable[str]:
    match step:
        case Fill(value=value):
            is_number = value in ("True", "False") or is_float(value)
            return [] if is_number else [f"a fill with {value[:40]!r}, which is not a number"]
        case Copy(target=target, source=source):
            return [] if target.shape == source.shape else [f"a copy of {source.shape} to {target.shape}"]
        case LibraryCall():
            return []
        case TritonLaunch():
            return _triton_launch(step, expected)
        case _:
            unknown(step)


def _buffers(plan: Plan, expected: Expected) -> Iterator[str]:
    if len({buffer.id for buffer in plan.buffers}) != len(plan.buffers):
        yield "a buffer is declared twice"
    for buffer in plan.buffers:
        if not 0 <= buffer.nbytes <= MAX_BYTES:
            yield f"a buffer of {buffer.nbytes} bytes"
        if buffer.origin != "scratch" and expected.given.get((buffer.origin, buffer.name)) != buffer.nbytes:
            yield f"the {buffer.origin} {buffer.name!r} of {buffer.nbytes} bytes, which the problem does not have"
    if sum(buffer.nbytes for buffer in plan.buffers) > MAX_BYTES:
        yield "buffers of more memory than any device has"


def _view(view: View, buffers: dict[int, Buffer]) -> str:
    buffer = buffers.get(view.buffer)
    if buffer is None or view.dtype not in ITEMSIZE or len(view.shape) != len(view.stride):
        return f"a view of an unknown buffer or dtype: {view}"
    if min((view.offset, *view.shape, *view.stride)) < 0 or end_bytes(view) > buffer.nbytes:
        return f"a view outside its buffer of {buffer.nbytes} bytes: {view}"
    if nbytes(view) > MAX_BYTES:
        return f"a view of more elements than any device can hold: {view}"
    return ""


def _triton_launch(launch: TritonLaunch, expected: Expected) -> Iterator[str]:
    name = launch.kernel
    if name not in expected.kernels:
        yield f"a launch of {name!r}, which is not a kernel of the candidate"
        return
    if not 1 <= len(launch.grid) <= 3 or not all(0 <= g <= m for g, m in zip(launch.grid, MAX_GRID, strict=False)):
        yield f"the grid of {name} is {launch.grid}, at most {MAX_GRID} is possible"
    if set(launch.arguments) != set(expected.kernels[name]):
        odd = sorted(set(launch.arguments) ^ set(expected.kernels[name]))
        yield f"{name} is launched with other arguments than it has: {', '.join(odd)[:80]}"
    elif list(launch.arguments) != list(expected.kernels[name]):
        yield f"{name} is launched with its arguments in another order"
    wrong = [option for option, value in launch.options.items()
             if option not in OPTIONS or not isinstance(value, int) or not 0 <= value < 2**31]  # fmt: skip
    if wrong:
        yield f"{name} is launched with the option {wrong[0]!r}; known: {', '.join(OPTIONS)}"
    for argument in launch.arguments.values():
        yield from _argument(argument, expected, 0)


def _argument(argument: Argument, expected: Expected, depth: int) -> Iterator[str]:
    match argument:
        case Tuple(items=items):
            if depth >= MAX_NESTING:
                yield f"tuples nested deeper than {MAX_NESTING}"
                return
            for item in items:
                yield from _argument(item, expected, depth + 1)
        case Descriptor(block_shape=block):
            if len(block) != len(argument.view.shape) or min(block, default=0) < 1 or max(block, default=0) >= 2**31:
                yield f"a tensor descriptor with the block shape {block}"
        case Value(kind="str", text=text) if "%" in text:
            yield f"the text {text[:40]!r}: the body of a kernel could fill in values after a percent sign"
        case Value(kind=kind, text=text) if not _is_value(kind, text, expected):
            yield f"the argument {text[:40]!r} is no {kind}"
        case Tensor() | Value():
            pass
        case _:
            unknown(argument)


def _is_value(kind: str, text: str, expected: Expected) -> bool:
    if kind == "int":
        return text.removeprefix("-").isdecimal() and text.isascii() and len(text) <= 20
    if kind == "float":
        return is_float(text)
    known = {"bool": ("True", "False"), "none": ("",), "dtype": DTYPES, "kernel": expected.kernels}
    return kind == "str" or text in known[kind]
