"""The public functions of PyTorch that call an operator of ATen, for host code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch._ops import OpOverload

from kernelwright.worker.plan.schemas import RECURRENT
from kernelwright.worker.reference.instance import Watching

MODULES: Mapping[ModuleType, str] = {
    torch: "", torch.nn.functional: "", torch.linalg: "linalg_", torch.special: "special_", torch.fft: "fft_",
}  # fmt: skip
"""Modules that host code may name, and what the operators of their functions begin with."""


def spelled_as(operator: OpOverload, args: Sequence[Any], named: Mapping[str, Any]) -> str:
    """The name of a function that calls this operator, and no other that computes, when it is given the operator's
    arguments; "" where there is none. args, named: with meta tensors."""
    for name, function in _functions(operator.overloadpacket.__name__):
        if RECURRENT.get(function) is operator:
            return name
        called: list[Any] = []
        with torch.no_grad(), Watching(lambda func, *_: called.append(func)):  # noqa: B023
            try:
                function(*args, **named)
            except (TypeError, ValueError, RuntimeError, NotImplementedError):
                continue
        if [one for one in called if not one.is_view] == [operator]:
            return name
    return ""


def _functions(operator: str) -> Iterator[tuple[str, Any]]:
    for module, prefix in MODULES.items():
        name = operator.lstrip("_").removeprefix(prefix)
        if callable(function := getattr(module, name, None)):
            yield f"{module.__name__}.{name}", function
