"""Detection of problems without anything to gain: the framework's library call is the whole computation.

This holds where the generated code launches no kernel, and where forward is a single operator that it calls the library
for, such as a convolution whose bias is added by a kernel. It also holds where its kernels only move elements (copy
them, in another order or dtype, or replace some by a constant) in less than `SHARE` of the time of the products and
convolutions: a kernel that fuses the moves could save no more than that.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Literal

from kernelwright.inductor.reading import Module
from kernelwright.model import Capture

SHARE = 0.05
"""Below this fraction nothing is gained: a Triton product would have to be as fast as the library's to save so
little."""

BYTES_PER_S = 4.2e12
FLOP_PER_S = {"float32": 5.1e13, "tf32": 4.9e14, "float16": 8.0e14, "bfloat16": 8.0e14}
"""H200 rates. Measured ones from devices/peaks/nvidia-h200.json; tf32: NVIDIA H200 datasheet, half of the sparse
rate."""
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}

Shapes = Mapping[str, tuple[int, ...]]
Kind = Literal["offset", "element", "result"]
"""The kind of an expression in a kernel: computed only from offsets and constants, a loaded element, or computed from
elements."""


def whole_call(module: Module, capture: Capture, precision: str) -> str | None:
    """The library calls that are the whole computation, in words; None where kernels compute some of it.

    module: as read from the capture."""
    calls = [one for step in module.steps for one in ast.walk(step) if isinstance(one, ast.Call) and operator_of(one)]
    if not calls:
        return None
    names = ", ".join(dict.fromkeys(f"aten.{operator_of(one)}" for one in calls))
    said = f"the library call is the computation ({names})"
    launches = [launch for step in module.steps if (launch := _launch(step, module)) is not None]
    if not launches or capture.is_one_operator:
        return said
    dtypes = {one.dtype for one in capture.tensors}
    if len(dtypes) > 1 or (dtype := dtypes.pop()) not in BYTES:
        return None
    if not all(_only_moves(module.kernels[_kernel(launch)].main) for launch in launches):
        return None
    shapes = _shapes(module, capture)
    moving_s = BYTES[dtype] * sum(_moved(launch, module, shapes) for launch in launches) / BYTES_PER_S
    rate = FLOP_PER_S["tf32" if dtype == "float32" and precision == "tf32" else dtype]
    computing_s = sum(_flop(step, shapes) for step in module.steps) / rate
    return f"{said}, and the kernels beside it only move elements" if moving_s < SHARE * computing_s else None


def operator_of(call: ast.Call) -> str:
    """The operator of a library call; "" for another call."""
    function = ast.unparse(call.func)
    for prefix in ("extern_kernels.", "torch.ops.aten."):
        if function.startswith(prefix):
            return function.removeprefix(prefix).partition(".")[0]
    return ""


def _launch(step: ast.stmt, module: Module) -> ast.Call | None:
    match step:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="run")) as launch):
            return launch if name in module.kernels else None
        case _:
            return None


def _kernel(launch: ast.Call) -> str:
    assert isinstance(launch.func, ast.Attribute)
    return ast.unparse(launch.func.value)


def _only_moves(kernel: ast.FunctionDef) -> bool:
    """Whether every stored element is a loaded one or a constant, selected by offsets only."""
    kinds: dict[str, Kind] = {}
    for step in kernel.body:
        match step:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                kinds[name] = _kind(value, kinds)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="store"), args=[address, value, *masks])):
                if _kind(value, kinds) == "result" or any(_kind(one, kinds) != "offset" for one in (address, *masks)):
                    return False
            case _:
                return False
    return True


def _kind(node: ast.expr, kinds: Mapping[str, Kind]) -> Kind:
    match node:
        case ast.Name(id=name):
            return kinds.get(name, "offset")
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="load"), args=given):
            return "element" if all(_kind(one, kinds) == "offset" for one in given) else "result"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="where"), args=[which, one, other]):
            found = {_kind(one, kinds), _kind(other, kinds)}
            if _kind(which, kinds) != "offset" or "result" in found:
                return "result"
            return "element" if "element" in found else "offset"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr="broadcast_to"), args=[one, *_]):
            return _kind(one, kinds)
        case ast.Call(func=ast.Attribute(value=one, attr="to")):
            return _kind(one, kinds)
        case _:
            pass
    inside = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    return "offset" if all(_kind(one, kinds) == "offset" for one in inside) else "result"


def _shapes(module: Module, capture: Capture) -> Shapes:
    """Shapes of all tensors in the host code, by name."""
    found = {name: spec.shape for name, spec in zip(module.arguments, capture.tensors, strict=True)}
    found |= {name: ast.literal_eval(shape) for name, shape in module.shapes.items()}
    for step in module.steps:
        match step:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="empty_strided_cuda")) as made
            ):
                found[name] = ast.literal_eval(made.args[0])
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (shape := _shape(value, found)) is not None:
                found[name] = shape
    return found


def _shape(node: ast.expr, shapes: Shapes) -> tuple[int, ...] | None:
    match node:
        case ast.Name(id=name):
            return shapes.get(name)
        case ast.Call(func=ast.Name(id="reinterpret_tensor"), args=[_, shape, *_]):
            found: tuple[int, ...] = ast.literal_eval(shape)
            return found
        case _:
            return None


def _moved(launch: ast.Call, module: Module, shapes: Shapes) -> float:
    """Number of elements that a kernel reads and writes; infinite where a tensor's shape is not known."""
    total = 0.0
    for parameter, given in zip(module.kernels[_kernel(launch)].main.args.args, launch.args, strict=False):
        if "_ptr" in parameter.arg:
            shape = _shape(given, shapes)
            times = 2 if parameter.arg.startswith("in_out") else 1
            total += math.inf if shape is None else times * math.prod(shape)
    return total


def _flop(step: ast.stmt, shapes: Shapes) -> int:
    """FLOP of the products and convolutions of a step; 0 for other steps."""
    total = 0
    for call in (one for one in ast.walk(step) if isinstance(one, ast.Call)):
        given = [_shape(one, shapes) for one in call.args]
        match operator_of(call), given:
            case ("mm" | "bmm", [left, right, *_]) | ("addmm" | "baddbmm", [_, left, right, *_]) if left and right:
                total += 2 * math.prod(left) * right[-1]
            case "convolution", [x, weight, *_] if x and weight and isinstance(step, ast.Assign):
                is_transposed = any(
                    one.arg == "transposed" and ast.unparse(one.value) == "True" for one in call.keywords
                )
                positions = x if is_transposed else shapes.get(ast.unparse(step.targets[0]), ())
                total += 2 * math.prod(positions) * math.prod(weight) // weight[0]
    return total
