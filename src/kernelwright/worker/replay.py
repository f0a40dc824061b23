"""Replaying a launch plan with kernels that were compiled on the trusted side.

It knows nothing of the candidate's host code or of expected outputs. `arguments` is shared by everything that needs
a kernel's arguments: the bench (real tensors), and the compiler (stand-ins that only have a dtype and an alignment).
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton
import triton.language as tl

from kernelwright.worker import plan as plans
from kernelwright.worker.arena import window
from kernelwright.worker.extract import kernels_name
from kernelwright.worker.layout import Layout


def load_kernels(path: str) -> ModuleType:
    """The module of extracted kernels at `path` (written by the supervisor from `extract`).

    Its text is read once and has to be what its name says: were host code not confined, it could write there.
    """
    name = Path(path).stem
    if name in sys.modules:
        return sys.modules[name]
    source = Path(path).read_text(encoding="utf-8")
    if name != kernels_name(source):
        raise ImportError(f"{path} does not hold the kernels that were extracted")
    module = ModuleType(name)
    module.__file__ = path
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)  # where Triton reads it again
    sys.modules[name] = module
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def arguments(launch: plans.Launch, kernels: ModuleType, tensor: Callable[[plans.View], Any]) -> dict[str, Any]:
    """Argument values by name; `tensor` turns a view into what the kernel is given for it."""

    def value(argument: plans.Argument) -> Any:
        match argument:
            case plans.Tensor(view=view):
                return tensor(view)
            case plans.Descriptor(view=view, block_shape=block, padding=padding):
                from triton.tools.tensor_descriptor import TensorDescriptor

                extra = {"padding": padding} if padding != "zero" else {}
                return TensorDescriptor(tensor(view), list(view.shape), list(view.stride), list(block), **extra)
            case plans.Tuple(items=items):
                return tuple(value(item) for item in items)
            case plans.Value(kind="none"):
                return None
            case plans.Value(kind="str", text=text):
                return text
            case plans.Value(kind="dtype", text=text):
                return tl.dtype(text)
            case plans.Value(kind="kernel", text=text):
                return getattr(kernels, text)
            case plans.Value(kind="float", text=text):
                return float(text)
            case plans.Value(text=text):
                return ast.literal_eval(text)

    return {name: value(argument) for name, argument in launch.arguments.items()}


def given(launch: plans.Launch, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """How a kernel is called with `values`: by name, unless that would make one an option of the launch as well.

    Triton reads `num_stages=4` as the option and as a parameter of that name; host code that passed the parameter by
    position got the option's default.
    """
    if any(name in plans.OPTIONS and name not in launch.options for name in values):
        return list(values.values()), dict(launch.options)
    return [], values | dict(launch.options)


class Replay:
    """A plan bound to memory. `run` does what one call of the candidate would do on the device."""

    def __init__(self, plan: plans.Plan, kernels: ModuleType, arena: torch.Tensor, layout: Layout) -> None:
        self.tensor = lambda view: window(arena, layout, view)
        self.steps = [self._bound(step, kernels) for step in plan.steps]

    def run(self) -> None:
        for step in self.steps:
            step()

    def _bound(self, step: plans.Fill | plans.Copy | plans.Launch, kernels: ModuleType) -> Callable[[], Any]:
        match step:
            case plans.Fill(view=view, value=value):
                target = self.tensor(view)
                number = float(value) if value in ("inf", "-inf", "nan") else ast.literal_eval(value)
                return lambda: target.fill_(number)
            case plans.Copy(target=target_view, source=source_view):
                to, source = self.tensor(target_view), self.tensor(source_view)
                return lambda: to.copy_(source)
            case plans.Launch():
                kernel = getattr(kernels, step.kernel)[step.grid]
                args, kwargs = given(step, arguments(step, kernels, self.tensor))
                if 0 in step.grid:
                    return lambda: None
                return lambda: kernel(*args, **kwargs)


def scratch_allocator(size: int, alignment: int, stream: int | None) -> torch.Tensor:
    """Memory for descriptors that a kernel makes on the device (`tl.make_tensor_descriptor`)."""
    return torch.empty(size, dtype=torch.int8, device="cuda")


def allow_device_descriptors() -> None:
    triton.set_allocator(scratch_allocator)
