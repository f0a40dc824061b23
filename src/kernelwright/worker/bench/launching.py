"""Launching of cubins on a GPU: loads machine code from a sandboxed compiler and launches it with a plan's arguments.

Triton's own loader and launcher get data only: a cubin, metadata, and the types of the parameters. No text of a
candidate is parsed, imported or executed here.
"""

from __future__ import annotations

import ast
import functools
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.compiler.compiler import CompiledKernel
from triton.runtime.driver import driver

from kernelwright.worker.compile import machine_code
from kernelwright.worker.compile.machine_code import MachineCode
from kernelwright.worker.plan import plan as plans
from kernelwright.worker.plan.replay import Launcher, Tensors, descriptor


class Loaded:
    """A kernel that is loaded on the device. signature: see `MachineCode`."""

    def __init__(self, code: MachineCode, name: str) -> None:
        """Load the kernel. Raises what Triton raises if it does not fit (too much shared memory, too many threads)."""
        self.signature = [(parameter, as_tuple(kind)) for parameter, kind in code.signature]
        source = SimpleNamespace(signature=dict(self.signature), constants={})
        major, minor = torch.cuda.get_device_capability()
        with tempfile.TemporaryDirectory(prefix="kernelwright-code-") as folder:
            files = {"kernel.json": Path(folder) / "kernel.json", "kernel.cubin": Path(folder) / "kernel.cubin"}
            files["kernel.json"].write_text(machine_code.metadata_file(code, 10 * major + minor))
            files["kernel.cubin"].write_bytes(code.cubin)
            self.kernel: Any = CompiledKernel(source, {name: str(path) for name, path in files.items()}, name)
        self.kernel._init_handles()

    def launch(self, grid: tuple[int, ...], values: list[Any]) -> None:
        """Launch the kernel on the current stream. values: of every parameter, in order; None for a constexpr."""
        kernel = self.kernel
        stream = driver.active.get_current_stream(torch.cuda.current_device())
        x, y, z = (*grid, 1, 1)[:3]
        kernel.run(x, y, z, stream, kernel.function, kernel.packed_metadata, None, None, None, *values)


@functools.cache
def loaded(name: str, folder: Path) -> Loaded:
    """The machine code that the supervisor stored in `folder` under `name`."""
    return Loaded(machine_code.fetch(name, folder), name)


def compiled(plan: plans.Plan, names: Iterable[str], folder: Path) -> Launcher:
    """A launcher for the machine code of a plan. names: of the machine code of each launch, in the plan's order."""
    by_launch = dict(zip(map(id, plan.launches), names, strict=True))

    def launcher(launch: plans.Launch, tensor: Tensors) -> Callable[[], Any]:
        kernel = loaded(by_launch[id(launch)], folder)
        values = [value(launch.arguments.get(name), kind, tensor) for name, kind in kernel.signature]
        return lambda: kernel.launch(launch.grid, values)

    return launcher


def value(argument: plans.Argument | None, kind: Any, tensor: Tensors) -> Any:
    """The value of one parameter for Triton's launcher. kind: its type in the signature."""
    if kind == "constexpr":
        return None
    match argument:
        case plans.Tensor(view=view):
            return tensor(view)
        case plans.Descriptor():
            return descriptor(argument, tensor)
        case plans.Tuple(items=items):
            return tuple(value(item, inner, tensor) for item, inner in zip(items, kind, strict=True))
        case plans.Value(kind="float", text=text):
            return float(text)
        case plans.Value(kind="int" | "bool", text=text):
            return ast.literal_eval(text)
        case _:
            raise ValueError(f"a parameter of type {kind} was compiled, and the plan gives it {argument!r}"[:400])


def as_tuple(kind: Any) -> Any:
    """A type from JSON, with its lists turned into tuples."""
    return tuple(as_tuple(item) for item in kind) if isinstance(kind, list | tuple) else kind


def scratch_allocator(size: int, alignment: int, stream: int | None) -> torch.Tensor:
    """Global scratch memory for tensor descriptors that a kernel creates (`tl.make_tensor_descriptor`)."""
    return torch.empty(size, dtype=torch.int8, device="cuda")


def allow_device_descriptors() -> None:
    triton.set_allocator(scratch_allocator)
