"""The public functions of PyTorch that call an operator of ATen, for host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

MODULES: Mapping[ModuleType, str] = {
    torch: "", torch.nn.functional: "", torch.linalg: "linalg_", torch.special: "special_", torch.fft: "fft_",
}  # fmt: skip
"""Modules that host code may name, and what the operators of their functions begin with."""


def spelled_as(operator: OpOverload, args: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The name of a function that calls this operator, and no other that computes, when it is given the operator's
    arguments; "" where there is none. args, named: with meta tensors."""
    for name, function in _functions(operator.overloadpacket.__name__):
        with torch.no_grad(), _Watched() as seen:
            try:
                function(*args, **named)
            except (TypeError, ValueError, RuntimeError, NotImplementedError):
                continue
        if seen.called == [operator]:
            return name
    return ""


def _functions(operator: str) -> Iterator[tuple[str, Any]]:
    for module, prefix in MODULES.items():
        name = operator.lstrip("_").removeprefix(prefix)
        if callable(function := getattr(module, name, None)):
            yield f"{module.__name__}.{name}", function


class _Watched(TorchDispatchMode):
    """Notes the operators that are called, beside views."""

    def __init__(self) -> None:
        super().__init__()
        self.called: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not func.is_view:
            self.called.append(func)
        return func(*args, **(kwargs or {}))
