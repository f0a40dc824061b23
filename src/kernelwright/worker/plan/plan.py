"""The launch plan: everything that a candidate's host code does in one call, as data.

The recorder (which is not trusted) writes it, and the bench replays it. A plan can allocate, fill, copy and cast
buffers, launch the candidate's own Triton kernels, and call the operators of `operators` if the problem allows it
(`LIBRARY`). Without LIBRARY only kernels compute, so a forged plan still has to compute the right answer with the
candidate's own kernels.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Literal, NoReturn

import msgspec

from kernelwright import codec
from kernelwright.errors import WorkerError
from kernelwright.model import Status

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "launch_cooperative_grid")
"""Launch keywords that are compiler options. Others are refused, because some (`ir_override`, …) replace the code."""

MAX_STEPS = 4096
"""Most steps of one call; the recorder refuses more. More launches are a loop in host code, not a kernel."""

AGAIN, AGAIN_FEW = -2, -4
"""Numbers of the draws that follow draw 0 on memory that is not cleared in between. Their inputs are those of draw 0
with some (AGAIN) or a few (AGAIN_FEW) values changed. The numbers are even, as 0 is, so that the guard zones hold the
same poison."""


class Step(msgspec.Struct, frozen=True, kw_only=True, tag=True, forbid_unknown_fields=True):
    """Base of the tagged steps and arguments."""


KEPT = "kept"
"""The name of scratch memory that is allocated at construction."""


class Buffer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A storage. The judge binds the origins "input" and "parameter" by `name`; "scratch" is allocated."""

    id: int
    nbytes: int
    origin: Literal["input", "parameter", "scratch"]
    name: str = ""


def is_kept(buffer: Buffer) -> bool:
    """Whether a buffer is memory that the candidate's module allocates at construction and uses in every call."""
    return buffer.origin == "scratch" and buffer.name == KEPT


class View(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strided window on a buffer. shape, stride and offset count elements of `dtype` (torch's name)."""

    buffer: int
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0


class Fill(Step, frozen=True, kw_only=True, tag="fill"):
    """Set every element of `view` to `value` (text of a Python number)."""

    view: View
    value: str


class Copy(Step, frozen=True, kw_only=True, tag="copy"):
    """Copy `source` to `target` (same shape), casting to the target's dtype."""

    target: View
    source: View


class Tensor(Step, frozen=True, kw_only=True, tag="tensor"):
    """A kernel argument: pointer to the view's first element."""

    view: View


class Descriptor(Step, frozen=True, kw_only=True, tag="descriptor"):
    """A host-made tensor descriptor (TMA) over `view`."""

    view: View
    block_shape: tuple[int, ...]
    padding: str = "zero"


class Value(Step, frozen=True, kw_only=True, tag="value"):
    """A plain argument. kind says how `text` is read: a Python literal, a Triton dtype, or a kernel's name."""

    kind: Literal["int", "float", "bool", "none", "str", "dtype", "kernel"]
    text: str = ""


class Tuple(Step, frozen=True, kw_only=True, tag="tuple"):
    items: tuple[Tensor | Descriptor | Value | Tuple, ...]


Argument = Tensor | Descriptor | Value | Tuple


class TritonLaunch(Step, frozen=True, kw_only=True, tag="triton"):
    """One Triton launch. arguments: by parameter name, including constexprs. options: num_warps, num_stages, …"""

    kernel: str
    grid: tuple[int, ...]
    arguments: dict[str, Argument]
    options: dict[str, int | bool | str | None] = {}


Launch = TritonLaunch
"""A launch in any language. A further language adds a record with its own tag: `TritonLaunch | OtherLaunch`. mypy then
reports every `match` without a case for the new record, and at run time such a `match` refuses the plan."""


class LibraryCall(Step, frozen=True, kw_only=True, tag="library"):
    """One operator of the framework (its name in `torch.ops.aten`) that writes its outputs to `targets`.

    arguments: every parameter of the operator; a dtype by torch's name.
    """

    operator: str
    arguments: dict[str, Argument]
    targets: tuple[View, ...]


PlanStep = Fill | Copy | LibraryCall | Launch


class Forward(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first part of a plan: its number of steps and of outputs. The rest is the backward."""

    steps: int
    outputs: int


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that one call does on one case, in order."""

    buffers: tuple[Buffer, ...]
    steps: tuple[PlanStep, ...]
    outputs: tuple[View, ...]
    single: bool
    """Whether the call returned one tensor, not a tuple of them."""
    returns: str = ""
    """How the outputs are nested in the call's result (`structure`)."""
    forward: Forward | None = None

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(step for step in self.steps if isinstance(step, Launch))

    @property
    def library_calls(self) -> tuple[LibraryCall, ...]:
        return tuple(step for step in self.steps if isinstance(step, LibraryCall))


def forward_alone(plan: Plan, part: Forward) -> Plan:
    """The plan without its backward."""
    cut = {"steps": plan.steps[: part.steps], "outputs": plan.outputs[: part.outputs], "forward": None}
    return msgspec.structs.replace(plan, **cut)


def backward_twice(plan: Plan, part: Forward) -> Plan:
    """The plan with its backward repeated at the end. The forward is not repeated."""
    return msgspec.structs.replace(plan, steps=(*plan.steps, *plan.steps[part.steps :]))


class Recording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorder's result for one case: a plan, or a status with its reason. taken: the numbers of the branches of
    host code that ran, as `source.branches` counts them. refused: whether a `raise` or `assert` statement of the host
    code itself raised the error. pruned: for autotuned kernels, the numbers of the configs that `early_config_prune`
    leaves out on this case."""

    case: str
    plan: Plan | None = None
    status: Status = Status.PASSED
    reason: str = ""
    taken: tuple[int, ...] = ()
    refused: bool = False
    pruned: dict[str, tuple[int, ...]] = {}


class Recorded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recorder's answer. autotune: the number of configs of each kernel under `triton.autotune`. constants: values
    of the requested names, as literals."""

    recordings: tuple[Recording, ...]
    autotune: dict[str, int]
    constants: dict[str, str] = {}


def unknown(part: NoReturn) -> NoReturn:
    """Refuse a step or an argument for which a `match` has no case. mypy reports a call that can be reached."""
    raise WorkerError(f"a plan contains {part!r}, which is not known here"[:400])


def views(plan: Plan) -> list[View]:
    """Every view in a plan."""
    found = list(plan.outputs)
    for step in plan.steps:
        match step:
            case Fill():
                found.append(step.view)
            case Copy():
                found += [step.target, step.source]
            case LibraryCall():
                found += [*step.targets, *argument_views(step)]
            case TritonLaunch():
                found += argument_views(step)
            case _:
                unknown(step)
    return found


def written_views(step: PlanStep) -> list[View]:
    """The views that a step writes, or may write: all arguments of a launch."""
    match step:
        case Fill(view=view) | Copy(target=view):
            return [view]
        case LibraryCall(targets=targets):
            return list(targets)
        case TritonLaunch():
            return argument_views(step)
        case _:
            unknown(step)


def argument_views(step: Launch | LibraryCall) -> list[View]:
    """Every view among the arguments of a step, in their order."""
    return [one.view for one in leaves(step.arguments).values() if not isinstance(one, Value)]


def leaves(arguments: Mapping[str, Argument]) -> dict[str, Tensor | Descriptor | Value]:
    """The arguments by name, in their order, with the items of tuples: "t.0", "t.1"."""
    found: dict[str, Tensor | Descriptor | Value] = {}
    for name, argument in arguments.items():
        match argument:
            case Tuple(items=items):
                found |= leaves({f"{name}.{place}": item for place, item in enumerate(items)})
            case Tensor() | Descriptor() | Value():
                found[name] = argument
            case _:
                unknown(argument)
    return found


def given_bytes(launch: Launch) -> int:
    """Bytes of all tensors in the arguments of a launch. Each view counts once."""
    return sum(map(nbytes, set(argument_views(launch))))


def dtypes(launch: Launch) -> tuple[str, ...]:
    """The kernel, and the dtypes, strings and kernels in its arguments. Launches with equal tuples compute in the same
    formats."""

    def of(argument: Argument) -> list[str]:
        match argument:
            case Tensor(view=view) | Descriptor(view=view):
                return [view.dtype]
            case Tuple(items=items):
                return [dtype for item in items for dtype in of(item)]
            case Value(kind="dtype" | "str" | "kernel", text=text):
                return [text]
            case Value():
                return []
            case _:
                unknown(argument)

    return (launch.kernel, *(dtype for _, argument in sorted(launch.arguments.items()) for dtype in of(argument)))


def nbytes(view: View) -> int:
    """Bytes of a view's elements, of which some may share memory."""
    return math.prod(view.shape) * ITEMSIZE[view.dtype]


def overlaps_itself(view: View) -> bool:
    """Whether two elements of a view may share memory."""
    reach = 0
    for stride, size in sorted(zip(view.stride, view.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def end_bytes(view: View) -> int:
    """Bytes from the buffer's start to past the view's last element."""
    if 0 in view.shape:
        return 0
    last = view.offset + sum((n - 1) * s for n, s in zip(view.shape, view.stride, strict=True))
    return (last + 1) * ITEMSIZE[view.dtype]


def is_long(view: View) -> bool:
    """Whether the last element is too far from the first for an offset of 32 bits."""
    return end_bytes(view) > (view.offset + 2**31) * ITEMSIZE[view.dtype]


def launch_identity(launch: Launch, constexpr: dict[str, bool]) -> str:
    """Hash of everything that affects the compiled code of a launch: kernel, dtypes, constexprs, options, the
    specialisation of integers (1, divisible by 16, width) and of pointers (16-byte aligned). Of a launch with long
    tensors everything counts, because its offsets are judged.

    constexpr: whether each parameter of the kernel is a constexpr (`extract.Kernels.parameters`).
    """

    def key(argument: Argument) -> object:
        match argument:
            case Tensor(view=view):
                return ("tensor", view.dtype, view.offset * ITEMSIZE[view.dtype] % 16 == 0)
            case Descriptor(view=view):
                return ("descriptor", view.dtype, argument.block_shape, argument.padding)
            case Tuple(items=items):
                return [key(item) for item in items]
            case Value(kind="int", text=text):
                number = int(text)
                width = 32 if -(2**31) <= number < 2**31 else 64 if number < 2**63 else 65
                return ("int", number == 1, number % 16 == 0, width)
            case Value(kind="float" | "bool"):
                return (argument.kind,)
            case Value():  # None, strings, dtypes and kernels are constants wherever they are passed
                return codec.plain(argument)
            case _:
                unknown(argument)

    described: list[object] = [launch.kernel, sorted(launch.options.items())]
    for name, argument in sorted(launch.arguments.items()):
        described.append([name, codec.plain(argument) if constexpr.get(name) else key(argument)])
    described += [codec.plain(launch)] if any(map(is_long, argument_views(launch))) else []
    return hashlib.sha256(codec.encode(described)).hexdigest()


ITEMSIZE = {
    "float64": 8, "int64": 8, "uint64": 8, "complex64": 8, "float32": 4, "int32": 4, "uint32": 4,
    "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
"""Bytes of one element, for the dtypes that plans support."""
