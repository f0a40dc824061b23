"""Converts a definition with its workloads, the format of flashinfer-bench and SOL-ExecBench, to a problem file.

A definition names axes, tensors with these axes, and a reference function `run`. A workload gives each variable axis a
size and states the source of each input. The axes become integers of the file, so each workload is a case. Formats:
https://bench.flashinfer.ai/docs/flashinfer-trace, https://github.com/NVIDIA/SOL-ExecBench/tree/main/docs
"""

from __future__ import annotations

import ast
import itertools
import json
import keyword
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from kernelwright.errors import ProblemError
from kernelwright.model import Case, Scalar, StatedBySet
from kernelwright.problems.sets.written import Translated
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bound_names
from kernelwright.spaces.restriction import BINARY, COMPARISONS
from kernelwright.templates import rendered
from kernelwright.textfile import parse_json, read_text

MOST_TIMED = 6
"""Largest number of workloads that a search times, evenly spread by size; the others are held out for the confirmation.
"""
SMALL_ELEMENTS = 400_000
"""Largest number of elements of all tensors in a small case: the CPU interpreter judges it in a minute or two."""
MULTIPLES = ((3, 5, 7, 9), (5, 7, 3, 11), (1, 1, 1, 1), (2, 1, 1, 1))
"""Sizes of variable axes in small cases, as multiples of the greatest common divisor of an axis's sizes. They are odd
where possible. The first two rows that fit are used."""
ODD_MULTIPLES = ((37, 39, 41), (17, 19, 21), (3, 5, 7))
"""The same for a held-out case, which may be as large as the largest workload."""
NUMBERS = ("float64", "float32", "float16", "bfloat16")
WHOLE = {"int64": 1024, "int32": 1024, "int16": 1024, "int8": 128}
"""Random integers lie between minus this value and this value, as in both sets."""
EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2")
FROM_FILES = "safetensors"


class Axis(msgspec.Struct):
    type: Literal["const", "var", "expr"]
    value: int | None = None
    expression: str | None = None


class Tensor(msgspec.Struct):
    """An input or output. shape: names of axes; None for a Python number."""

    dtype: str
    shape: list[str] | None = None
    description: str | None = None


class Definition(msgspec.Struct):
    name: str
    axes: dict[str, Axis]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    reference: str
    description: str | None = None
    op_type: str | None = None
    tags: list[str] | None = None
    constraints: list[str] | None = None
    custom_inputs_entrypoint: str | None = None


class Source(msgspec.Struct):
    """The source of an input. type: random, scalar, safetensors or custom."""

    type: str
    value: Scalar | None = None


class Workload(msgspec.Struct):
    uuid: str
    axes: dict[str, int]
    inputs: dict[str, Source]
    tolerance: dict[str, Any] | None = None


Draw = Callable[[str, Tensor, str], str]
"""Function from an input's name, its tensor and an expression for its shape to an expression for its values."""


def read_definition(file: Path) -> Definition:
    """The definition in a file. Raises `ProblemError` if there is none."""
    try:
        found = msgspec.convert(parse_json(_text(file)), Definition)
    except (ValueError, msgspec.ValidationError) as error:
        raise ProblemError(f"{file} is no definition: {error}") from error
    names = [*found.axes, *found.inputs]
    if strange := [name for name in names if not name.isidentifier() or keyword.iskeyword(name)]:
        raise ProblemError(f"{file}: {strange[0]!r} cannot be a name in Python")
    return found


def read_workloads(file: Path) -> list[Workload]:
    """The workloads in a JSONL or JSON file; each may be wrapped in a trace. Raises `ProblemError`."""
    text = _text(file)
    try:
        lines = parse_json(text) if file.suffix == ".json" else [json.loads(line) for line in text.splitlines() if line]
        entries = [line.get("workload", line) for line in (lines if isinstance(lines, list) else [lines])]
        found = msgspec.convert(entries, list[Workload])
    except (ValueError, AttributeError, RecursionError, msgspec.ValidationError) as error:
        raise ProblemError(f"{file} holds no workloads: {error}") from error
    return list({workload.uuid: workload for workload in found}.values())


def _text(file: Path) -> str:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"cannot read {file}: {error}") from error


def translated(file: Path, set_name: str, definition: Definition, workloads: list[Workload], draw: Draw) -> Translated:
    """Convert a definition. file: for messages. draw: writes the set's random inputs. Raises `ProblemError`."""
    usable = [one for one in workloads if all(source.type != FROM_FILES for source in one.inputs.values())]
    if not usable:
        stored = [name for one in workloads[:1] for name, source in one.inputs.items() if source.type == FROM_FILES]
        raise ProblemError(
            f"{file}: every workload takes {', '.join(stored)} from a safetensors file" if workloads else
            f"{file} has no workloads",
            "such values cannot be drawn again; problems with random, scalar and custom inputs load",
        )  # fmt: skip
    usable = [one for one in usable if _kinds(one) == _kinds(usable[0])]
    numbers = {name: name for name in [*definition.axes, *_scalars(usable[0])]}
    _refuse_taken(file, definition, numbers)
    cases, tried = _cases(definition, usable), tuple(_smaller(definition, usable))
    facts = {
        "description": definition.description or "",
        "kind": definition.op_type or "",
        "tags": ", ".join(definition.tags or []),
        "constraints": "; ".join(definition.constraints or []),
        "left out": f"{left} workloads, whose inputs come from files" if (left := len(workloads) - len(usable)) else "",
    }
    by_case = {
        case.name: {"uuid": one.uuid, **{key: value for key, value in (one.tolerance or {}).items()
                                         if isinstance(value, bool | int | float | str)}}
        for case, one in zip(cases, usable, strict=True)
    }  # fmt: skip
    stated = StatedBySet(
        set=set_name, name=definition.name, facts={key: value for key, value in facts.items() if value}, cases=by_case
    )
    return Translated(definition.name, _problem_text(definition, usable[0], draw), cases, tried, stated)


def _kinds(workload: Workload) -> dict[str, str]:
    return {name: source.type for name, source in workload.inputs.items()}


def _scalars(workload: Workload) -> dict[str, Scalar]:
    return {name: source.value for name, source in workload.inputs.items() if source.type == "scalar"
            and source.value is not None}  # fmt: skip


def _refuse_taken(file: Path, definition: Definition, numbers: Mapping[str, str]) -> None:
    """Raise `ProblemError` if the reference is not Python, defines no `run`, or binds a name that the problem needs."""
    try:
        tree = syntax.parse(definition.reference)
    except (SyntaxError, ValueError) as error:
        raise ProblemError(f"{file}: its reference is not Python: {error}") from error
    bound = bound_names(tree.body)
    if "run" not in bound:
        raise ProblemError(f"{file}: its reference defines no function run")
    own = {"Model", "get_init_inputs", "get_inputs"} - {definition.custom_inputs_entrypoint}
    if taken := sorted(bound & {*own, *numbers}):
        raise ProblemError(f"{file}: its reference defines {taken[0]}, which is also a name of the problem")


# --- the text -----------------------------------------------------------------------------------------------


def _problem_text(definition: Definition, first: Workload, draw: Draw) -> str:
    sizes = axes_of(definition, first.axes)
    if sizes is None:
        raise ProblemError(f"{definition.name}: an axis has no size", "expected arithmetic over axes that have one")
    numbers: dict[str, object] = {}
    for name, size in sizes.items():  # each axis after those that it is computed from
        expression = definition.axes[name].expression
        numbers[name] = size if expression is None else f"int({expression})"
    numbers |= {name: repr(value) for name, value in _scalars(first).items()}
    inputs = {}
    for name, tensor in definition.inputs.items():
        source = first.inputs.get(name, Source(type="random"))
        shape = f"[{', '.join(tensor.shape or [])}]"
        inputs[name] = {"scalar": name, "custom": f'made["{name}"]'}.get(source.type) or draw(name, tensor, shape)
    known = ", ".join(f'"{name}": {name}' for name in [*definition.axes, *_scalars(first)])
    is_made = any(source.type == "custom" for source in first.inputs.values())
    return rendered(
        "kernelwright.problems.sets",
        "definition.py.j2",
        reference=definition.reference.rstrip(),
        custom=definition.custom_inputs_entrypoint,
        numbers=numbers,
        docstring=repr(definition.description) if definition.description else "",
        arguments=", ".join(definition.inputs),
        made=f"{{{known}}}" if is_made else "",
        inputs=inputs,
    )


def random_values(name: str, tensor: Tensor, shape: str) -> str:
    """An expression for random values: normal numbers, small integers, or booleans. Raises `ProblemError` for a dtype
    that PyTorch cannot draw."""
    if tensor.shape is None:
        return "torch.randn(()).item()"
    dtype = f"torch.{tensor.dtype}"
    if tensor.dtype in NUMBERS:
        return f"torch.randn({shape}, dtype={dtype})"
    if tensor.dtype in EIGHT_BITS:
        return f"torch.randn({shape}).clamp(-2, 2).to({dtype})"
    if tensor.dtype in WHOLE:
        most = WHOLE[tensor.dtype]
        return f"torch.randint({-most}, {most}, {shape}, dtype={dtype})"
    if tensor.dtype == "bool":
        return f"torch.randint(0, 2, {shape}, dtype=torch.bool)"
    raise ProblemError(f"input {name} is of {tensor.dtype}, in which PyTorch does not compute")


# --- the cases ----------------------------------------------------------------------------------------------


def _cases(definition: Definition, workloads: Sequence[Workload]) -> tuple[Case, ...]:
    """A case for each workload, in their order. The timed ones are spread evenly by size."""
    timed = timed_among([math.prod(one.axes.values()) for one in workloads])
    variable = [name for name, axis in definition.axes.items() if axis.type == "var"]
    short = len({one.uuid[:8] for one in workloads}) == len(workloads)

    def name_of(one: Workload) -> str:
        sizes = "x".join(str(one.axes[name]) for name in variable if name in one.axes)
        return "-".join(filter(None, [sizes, one.uuid[:8] if short else one.uuid]))

    return tuple(
        Case(
            name=name_of(one),
            params={**{name: one.axes[name] for name in variable if name in one.axes}, **_scalars(one)},
            held_out=position not in timed,
        )
        for position, one in enumerate(workloads)
    )


def timed_among(sizes: Sequence[int]) -> set[int]:
    """The places of at most `MOST_TIMED` of these sizes, spread evenly by size."""
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    count = min(MOST_TIMED, len(sizes))
    return {by_size[round(step * (len(sizes) - 1) / max(1, count - 1))] for step in range(count)}


def _smaller(definition: Definition, workloads: Sequence[Workload]) -> Iterator[Case]:
    """Small and odd cases with other sizes of the variable axes.

    A size is a multiple of the greatest common divisor of the axis's sizes in the workloads; of a half, a quarter and
    so on of it if the case would be too large. An axis with one size in all workloads keeps it. Sizes that violate a
    stated constraint are left out.
    """
    variable = [name for name, axis in definition.axes.items() if axis.type == "var"]
    stated = {name: sorted({one.axes[name] for one in workloads if name in one.axes}) for name in variable}
    free = [name for name in variable if len(stated[name]) > 1]
    if not free:
        return
    steps = {name: math.gcd(*stated[name]) for name in free}
    fixed = {name: sizes[0] for name, sizes in stated.items() if len(sizes) == 1}
    scalars = _scalars(workloads[0])
    # The CPU interpreter's bfloat16 arithmetic is wrong.
    narrow = any(tensor.dtype == "bfloat16" for tensor in definition.inputs.values())

    def sized(halved: int, multiples: Sequence[int]) -> dict[str, int]:
        sizes = zip(free, itertools.cycle(multiples), strict=False)
        return fixed | {name: max(1, steps[name] >> halved) * times for name, times in sizes}

    def fits(axes: Mapping[str, int], most: int) -> bool:
        known = axes_of(definition, axes)
        return (
            known is not None
            and elements(definition, axes) <= most
            and all(_computed(text, known) is not False for text in definition.constraints or [])
        )

    tries = (
        [sized(halved, multiples) for multiples in MULTIPLES] for halved in range(max(steps.values()).bit_length())
    )
    small = next((found for some in tries if (found := [axes for axes in some if fits(axes, SMALL_ELEMENTS)])), [])
    for position, axes in enumerate(small[:2], 1):
        dtype = "float32" if narrow else None
        yield Case(name=f"small{position}", params={**axes, **scalars}, dtype=dtype, small=True, derived=True)
    largest = max(elements(definition, one.axes) for one in workloads)
    if odd := next((axes for times in ODD_MULTIPLES if fits(axes := sized(0, times), largest)), None):
        yield Case(name="odd", params={**odd, **scalars}, held_out=True, derived=True)


def axes_of(definition: Definition, variable: Mapping[str, int]) -> dict[str, int] | None:
    """The size of every axis, each after those that it is computed from; None if one cannot be computed."""
    known = {name: axis.value for name, axis in definition.axes.items() if axis.value is not None}
    known |= {name: size for name, size in variable.items() if name in definition.axes}
    left = {name: axis.expression or "" for name, axis in definition.axes.items() if name not in known}
    while left:
        found = {name: value for name, text in left.items() if _is_size(value := _computed(text, known))}
        if not found:
            return None
        known |= {name: int(value) for name, value in found.items()}
        left = {name: text for name, text in left.items() if name not in found}
    return known


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value) and value >= 0


def elements(definition: Definition, variable: Mapping[str, int]) -> int:
    """Number of elements of all inputs and outputs."""
    known = axes_of(definition, variable) or {}
    shapes = [tensor.shape for tensor in itertools.chain(definition.inputs.values(), definition.outputs.values())]
    return sum(math.prod(known.get(axis, 1) for axis in shape) for shape in shapes if shape is not None)


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {**BINARY, **COMPARISONS, ast.Pow: math.pow}


def _computed(text: str, axes: Mapping[str, int]) -> Any:
    """The value of an arithmetic expression over axes; None for any other text."""
    try:
        return _value(ast.parse(text, mode="eval").body, axes)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, OverflowError, RecursionError):
        return None


def _value(node: ast.expr, axes: Mapping[str, int]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Name):
        return axes[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, axes)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, axes), _value(node.right, axes))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return _OPERATORS[type(node.ops[0])](_value(node.left, axes), _value(node.comparators[0], axes))
    raise ValueError("it is more than arithmetic over axes")
