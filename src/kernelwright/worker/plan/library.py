"""Replay of a library step: one operator of the framework that writes to tensors of the arena.

The recorder wrote the step, and `faults` has checked its names and numbers. The shapes and dtypes of the operator's
results are derived here again, on meta tensors, because torch would resize an `out=` of another shape.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from kernelwright.worker.plan import plan as plans
from kernelwright.worker.plan.schemas import fault_of, writing_of


class Unfit(Exception):
    """A library step has targets or arguments that its operator does not have."""


def exact_products() -> None:
    """Make this process multiply float32 in IEEE precision, as judge, bench and profiler do."""
    allow_tf32(False)


def allow_tf32(allowed: bool) -> None:
    """Set whether this process may round the factors of float32 products to TF32 on a GPU."""
    torch.backends.cudnn.allow_tf32 = allowed
    torch.backends.cuda.matmul.allow_tf32 = allowed


@contextmanager
def in_ieee_precision() -> Iterator[None]:
    """Context without TF32. At its end the previous settings are restored."""
    matmul, cudnn = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    exact_products()
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = matmul, cudnn


def bind(step: plans.LibraryCall, tensor: Callable[[plans.View], torch.Tensor]) -> Callable[[], Any]:
    """A function that runs the step. Raises Unfit if a target differs in shape or dtype from the operator's result."""
    packet, _, overload = step.operator.partition(".")
    functional: Any = getattr(getattr(torch.ops.aten, packet, None), overload, None)
    if why := fault_of(functional):
        raise Unfit(f"aten.{step.operator} {why}")
    targets = [tensor(view) for view in step.targets]
    args, kwargs = _arguments(functional, step, tensor)
    meta_args, meta_kwargs = _arguments(functional, step, lambda view: tensor(view).to("meta"))
    derived = _outputs(functional(*meta_args, **meta_kwargs))
    given = [(tuple(made.shape), made.dtype) for made in derived if made.layout is torch.strided]
    if given != [(tuple(target.shape), target.dtype) for target in targets]:
        raise Unfit(f"aten.{step.operator} gives {given}, and the plan has {[tuple(t.shape) for t in targets]} for it")
    if (writing := writing_of(functional)) is None:
        return lambda: [target.copy_(made) for target, made in
                        zip(targets, _outputs(functional(*args, **kwargs)), strict=True)]  # fmt: skip
    names = [argument.name for argument in writing._schema.arguments if argument.is_out]
    into = dict(zip(names, targets, strict=True))
    return lambda: writing(*args, **kwargs, **into)


def _arguments(
    functional: Any, step: plans.LibraryCall, tensor: Callable[[plans.View], torch.Tensor]
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments according to the operator's schema."""
    args, kwargs = [], {}
    if {one.name for one in functional._schema.arguments} != step.arguments.keys():
        raise Unfit(f"aten.{step.operator} has other arguments than {', '.join(step.arguments)}")
    for argument in functional._schema.arguments:
        value = _value(step.arguments[argument.name], tensor)
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def _value(argument: plans.Argument, tensor: Callable[[plans.View], torch.Tensor]) -> Any:
    match argument:
        case plans.Tensor(view=view):
            return tensor(view)
        case plans.Tuple(items=items):
            return [_value(item, tensor) for item in items]
        case plans.Value(kind="none"):
            return None
        case plans.Value(kind="dtype", text=text):
            return getattr(torch, text)
        case plans.Value(kind="float", text=text):
            return float(text)
        case plans.Value(kind="int" | "bool" | "str", text=text):
            return ast.literal_eval(text)
        case _:
            raise Unfit(f"a library step cannot take {argument!r}"[:200])


def _outputs(made: Any) -> list[torch.Tensor]:
    return [made] if isinstance(made, torch.Tensor) else list(made)
