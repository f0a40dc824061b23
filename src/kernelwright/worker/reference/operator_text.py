"""The operators of the reference as text, one per line, without any text from the problem file.

    %1 = mm(x, linear_weight) -> (64, 32) float32
    return %1

Inputs have the names of forward's arguments. Parameters, buffers and tensors in attributes have the names of a kernel's
arguments: `linear.weight` becomes `linear_weight`. Other tensors are shown as constants, numbers by their value.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten

from kernelwright.source.parameter_names import as_argument
from kernelwright.worker.reference.instance import Instance, Watching, outputs

PLACES = frozenset({"device", "pin_memory", "layout"})
"""Arguments about the memory of a tensor, which the text leaves out."""
MOST_LINES = 400
"""Limit on the lines, because a deep network repeats itself. The last line then counts the operators left out."""


class _Trace(Watching):
    """Writes a line for each operator. names: by tensor id; `kept` keeps tensors alive, so that ids are unique."""

    def __init__(self, names: dict[int, str]) -> None:
        super().__init__(self._write)
        self.names = names
        self.lines: list[str] = []
        self.kept: list[Tensor] = []

    def _write(self, func: Any, args: Any, kwargs: dict[str, Any], made: Any) -> None:
        given = [self.said(value) for value in args]
        given += [f"{name}={self.said(value)}" for name, value in kwargs.items() if name not in PLACES]
        results = [value for value in tree_flatten(made)[0] if isinstance(value, Tensor)]
        for tensor in results:
            if id(tensor) not in self.names:
                self.kept.append(tensor)
                self.names[id(tensor)] = f"%{len(self.kept)}"
        if not results:
            return
        left = ", ".join(self.names[id(tensor)] for tensor in results)
        shapes = ", ".join(_shape(tensor) for tensor in results)
        self.lines.append(f"{left} = {func.__name__.removesuffix('.default')}({', '.join(given)}) -> {shapes}")

    def said(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.names.get(id(value)) or f"a constant {_shape(value)}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.said, value))}]"
        return repr(value)


def operator_text(instance: Instance) -> tuple[str, ...]:
    """The operators of one call of the reference, one per line, and what it returns."""
    names = {id(value): name for name, value in zip(instance.input_names, instance.inputs, strict=True)
             if isinstance(value, Tensor)}  # fmt: skip
    held = [*instance.module.named_parameters(), *instance.module.named_buffers()]
    names |= {id(tensor): as_argument(name) for name, tensor in held}
    with torch.no_grad(), _Trace(names) as trace:
        made = outputs(instance)
    lines = trace.lines
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"… and {len(lines) - MOST_LINES + 1} more operators"]
    return (*lines, f"return {', '.join(map(trace.said, made))}")


def _shape(tensor: Tensor) -> str:
    sizes = ", ".join(str(size) for size in tensor.shape) + ("," if tensor.dim() == 1 else "")
    return f"({sizes}) {str(tensor.dtype).removeprefix('torch.')}"
