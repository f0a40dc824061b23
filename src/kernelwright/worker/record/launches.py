"""Recording of Triton launches: a launch in host code becomes a step of the plan, with its arguments as data.

No kernel is compiled or run. Only module-level `@triton.jit` functions of the candidate can be launched, because only
those are rebuilt on the trusted side.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import torch
import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, KernelInterface
from triton.tools.tensor_descriptor import TensorDescriptor

from kernelwright.worker.plan import plan
from kernelwright.worker.plan.faults import MAX_GRID
from kernelwright.worker.record.trace import Refused, Trace


def kernel_names(module: ModuleType, tree: ast.Module) -> dict[int, str]:
    """Names of the kernels that the text of the module defines, by id of the JIT function. Another JIT function may
    have the name of one of them (it is made by a call or in a class), but not its code."""
    found: dict[int, str] = {}
    for name in _defined(tree):
        value: Any = vars(module).get(name)
        while isinstance(value, KernelInterface) and not isinstance(value, JITFunction):
            value = getattr(value, "fn", None)
        if isinstance(value, JITFunction):
            found[id(value)] = name
    return found


def _defined(node: ast.AST) -> Iterator[str]:
    """The names of functions that a module defines, also under conditions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child.name
        elif not isinstance(child, ast.ClassDef | ast.Lambda):
            yield from _defined(child)


def set_allocator(allocator: Any) -> None:
    """Replacement of `triton.set_allocator`. Not a mock: a mock records its calls, and a candidate could read them."""


class CompiledKernel:
    """What a launch returns. Triton returns the compiled kernel, which nothing may depend on."""

    def _read(self, *_: object) -> Any:
        raise Refused("the host code reads what a launch returns: it may not depend on compiled code")

    __getattr__ = __eq__ = __ne__ = __bool__ = __len__ = __iter__ = __repr__ = __str__ = __call__ = __contains__ = _read
    __getitem__ = _read
    __hash__ = None  # type: ignore[assignment]


class RecordLaunches:
    """Context in which Triton launches are appended to the trace instead of being run."""

    def __init__(
        self, trace: Trace, choices: dict[str, int], tuned: dict[str, int], pruned: dict[str, tuple[int, ...]]
    ) -> None:
        """choices: the config of each kernel. tuned, pruned: get the number of configs of each kernel, and those that
        its `early_config_prune` leaves out."""
        self.trace, self.choices, self.tuned, self.pruned = trace, choices, tuned, pruned
        self.names: dict[int, str] = {}

    def __enter__(self) -> dict[int, str]:
        recorder = self

        def run(self: JITFunction[Any], *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> CompiledKernel:
            if warmup:
                raise Refused(
                    "warmup compiles a kernel: host code may not depend on compiled code, such as its registers"
                )
            recorder.launch(self, grid, args, kwargs)
            return CompiledKernel()

        def run_autotuned(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
            return recorder.autotuned(self, args, kwargs)

        def parse(self: JITFunction[Any]) -> Any:
            raise Refused("the host code reads the text of a kernel, which may not be the one that is judged")

        self.patches: list[Any] = [
            mock.patch.object(JITFunction, "run", run),
            mock.patch.object(JITFunction, "parse", parse),
            mock.patch.object(Autotuner, "run", run_autotuned),
            mock.patch.object(triton, "set_allocator", set_allocator),
        ]
        for patch in self.patches:
            patch.start()
        return self.names

    def __exit__(self, *exception: object) -> None:
        for patch in self.patches:
            patch.stop()

    def autotuned(self, tuner: Autotuner, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = tuner.base_fn.__name__
        configs, index = tuner.configs, self.choices.get(name, 0)
        if tuner.early_config_prune and len(tuner.configs) > 1:
            given = dict(zip(tuner.arg_names, args, strict=False))
            kept = [*tuner.early_config_prune(configs, given, **kwargs)]
            if any(config not in configs for config in kept):
                configs = kept  # it makes configs of its own
            out = {number for number, config in enumerate(configs) if config not in kept}
            self.pruned[name] = tuple(sorted(out.union(self.pruned.get(name, ()))))
        self.tuned[name] = len(configs)
        if not 0 <= index < len(configs):
            raise Refused(f"autotune:{name} = {index}, but there are {len(configs)} configs")
        config = configs[index]
        if (earlier := getattr(tuner, "best_config", None)) is None or earlier != config:
            tuner.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**dict(zip(tuner.arg_names, args, strict=False)), **kwargs, **config.all_kwargs()})
        return tuner.fn.run(*args, **kwargs, **config.all_kwargs())

    def launch(self, kernel: JITFunction[Any], grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        name = self.names.get(id(kernel))
        if name is None:
            raise Refused("a kernel was launched that is not a module-level @triton.jit function of the candidate")
        signature = inspect.signature(kernel.fn)
        if kwargs.pop("launch_pdl", False):
            raise Refused(
                f"{name} is launched with launch_pdl: calls in a row would overlap, so that the time of one call could "
                "not be measured; leave it out"
            )
        options = {k: kwargs[k] for k in plan.OPTIONS if k in kwargs}
        kwargs = {k: v for k, v in kwargs.items() if k not in options or k in signature.parameters}
        arguments = signature.bind(*args, **kwargs)
        arguments.apply_defaults()
        if callable(grid):
            grid = grid(dict(arguments.arguments))
        grid = tuple(grid) if isinstance(grid, tuple | list | torch.Size) else (grid,)
        if not 1 <= len(grid) <= 3 or not all(type(g) in (int, bool) for g in grid):
            shown = [g if isinstance(g, int | float | str) else type(g).__name__ for g in grid]
            raise Refused(f"the grid of {name} is {shown}; one to three integers were expected")
        if not all(0 <= g <= most for g, most in zip(grid, MAX_GRID, strict=False)):
            raise Refused(f"the grid of {name} is {grid!r}; a device takes at most {MAX_GRID}")
        self.trace.append(
            plan.TritonLaunch(
                kernel=name,
                grid=grid,
                arguments={k: self.argument(v, f"{name}'s argument {k}") for k, v in arguments.arguments.items()},
                options={k: v for k, v in options.items() if v is not None},
            )
        )

    def argument(self, value: Any, what: str) -> plan.Argument:
        if isinstance(value, triton.language.constexpr):
            value = value.value
        if isinstance(value, torch.Tensor):
            return plan.Tensor(view=self.trace.view(value, what))
        if value is None or type(value) in (bool, int, float, str):
            kind: Any = "none" if value is None else type(value).__name__
            return plan.Value(kind=kind, text=repr(value) if kind not in ("str", "none") else str(value or ""))
        if isinstance(value, triton.language.dtype):
            return plan.Value(kind="dtype", text=value.name)
        if isinstance(value, JITFunction) and id(value) in self.names:
            return plan.Value(kind="kernel", text=self.names[id(value)])
        if isinstance(value, tuple | list):
            return plan.Tuple(items=tuple(self.argument(item, what) for item in value))
        if type(value) is TensorDescriptor:
            view = self.trace.view(value.base, what)
            shaped = plan.View(buffer=view.buffer, dtype=view.dtype, shape=tuple(value.shape),
                               stride=tuple(value.strides), offset=view.offset)  # fmt: skip
            padding = getattr(value, "padding", "zero")
            return plan.Descriptor(view=shaped, block_shape=tuple(value.block_shape), padding=str(padding))
        raise Refused(f"{what} is a {type(value).__name__}; tensors, numbers, strings, Triton dtypes, tensor "
                      "descriptors and kernels can be passed")  # fmt: skip
