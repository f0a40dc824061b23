"""Import of a candidate's extracted kernels as a Python module, and the arguments of their launches.

The import executes text of a candidate, so only sandboxed processes do it: the compiler and the interpreter. The bench
of a GPU gets machine code instead (`launching`); an import contract forbids it to import this file.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import triton.language as tl

from kernelwright.worker.plan import plan as plans
from kernelwright.worker.plan.replay import descriptor


def load_kernels(source: str, folder: Path, names: Mapping[str, Any] = MappingProxyType({})) -> ModuleType:
    """Import the module of extracted kernels (see `extract`). folder: for the source file, which Triton reads again.
    names: global names that the text can use without an import."""
    path = str(folder / "kernels.py")
    Path(path).write_text(source, encoding="utf-8")
    module = ModuleType("kernels")
    module.__file__ = path
    module.__dict__.update(names)
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    sys.modules["kernels"] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def arguments(launch: plans.TritonLaunch, kernels: ModuleType, tensor: Callable[[plans.View], Any]) -> dict[str, Any]:
    """Argument values of a launch by name. tensor: turns a view into the kernel's argument."""

    def value(argument: plans.Argument) -> Any:
        match argument:
            case plans.Tensor(view=view):
                return tensor(view)
            case plans.Descriptor():
                return descriptor(argument, tensor)
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


def given(launch: plans.TritonLaunch, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments for calling a kernel with `values`. They are keywords, unless the kernel has a
    parameter with the name of a launch option that the launch does not set.

    Triton reads `num_stages=4` as the launch option and as a parameter of that name. Host code that passed the
    parameter by position used the option's default.
    """
    if any(name in plans.OPTIONS and name not in launch.options for name in values):
        return list(values.values()), dict(launch.options)
    return [], values | dict(launch.options)


def interpreted(kernels: ModuleType) -> Callable[[plans.Launch, Callable[[plans.View], Any]], Callable[[], Any]]:
    """A launcher (see `replay.Launcher`) that runs the kernels in Triton's CPU interpreter."""

    def launcher(launch: plans.Launch, tensor: Callable[[plans.View], Any]) -> Callable[[], Any]:
        match launch:
            case plans.TritonLaunch():
                kernel = getattr(kernels, launch.kernel)[launch.grid]
                args, kwargs = given(launch, arguments(launch, kernels, tensor))
                return lambda: kernel(*args, **kwargs)

    return launcher
