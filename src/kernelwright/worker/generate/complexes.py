"""Complex tensors as pairs of real ones, so that kernels, which have no complex numbers, can compute with them.

PyTorch's own `ComplexTensor` states each operator on complex tensors by operators on their parts. Here every complex
tensor becomes one where it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

try:
    from torch._subclasses.complex_tensor import ComplexTensor
except ImportError:
    ComplexTensor = None  # type: ignore[assignment, misc]

aten = torch.ops.aten


def as_pairs() -> AbstractContextManager[Any]:
    """Inside, operators make pairs of real tensors in place of complex ones. Where this version of PyTorch has no
    `ComplexTensor`, they make complex ones."""
    return nullcontext() if ComplexTensor is None else _Pairs()


class SizesOfComplex(TorchDispatchMode):
    """Inside, fake tensors are made complex without their sizes becoming numbers."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in (aten.polar.default, aten.complex.default) or not isinstance(args[0], FakeTensor):
            return func(*args, **(kwargs or {}))
        return args[0].new_empty(torch.broadcast_shapes(*(one.shape for one in args)), dtype=args[0].dtype.to_complex())


class _Pairs(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if (made := MADE.get(func)) is not None and (parts := made(*args, **named)):
            return ComplexTensor(*parts)
        args, named = tree_map(_paired, (args, named))
        leaves = tree_leaves((args, named))
        with self:  # what it computes with real tensors may become complex, too
            made = NotImplemented
            if any(map(_is_pair, leaves)):
                made = ComplexTensor.__torch_dispatch__(func, types, args, named)
            elif any(isinstance(one, torch.dtype) and one.is_complex for one in leaves):
                made = func.decompose(*args, **named)
            if made is not NotImplemented:
                return made
        args, named = tree_map(_whole, (args, named))
        return tree_map(_paired, func(*args, **named))


def _polar(length: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    return length * angle.cos(), length * angle.sin()


def _split(parts: Tensor) -> tuple[Tensor, Tensor]:
    return parts.select(-1, 0), parts.select(-1, 1)


def _cast(value: Tensor, *, dtype: torch.dtype | None = None, **named: Any) -> tuple[Tensor, Tensor] | None:
    if dtype is None or not dtype.is_complex or value.is_complex():
        return None
    real = aten._to_copy(value, dtype=dtype.to_real(), **named)
    return real, torch.zeros_like(real)


MADE: Mapping[Any, Callable[..., tuple[Tensor, Tensor] | None]] = {
    aten.view_as_complex.default: _split,
    aten.complex.default: lambda real, imaginary: (real, imaginary),
    aten.polar.default: _polar,
    aten._to_copy.default: _cast,
}
"""Both parts of what an operator makes of real tensors; None where it makes something else."""


def _paired(value: Any) -> Any:
    """A complex tensor that another operator made, as a pair."""
    is_whole = isinstance(value, Tensor) and value.dtype.is_complex and not _is_pair(value)
    return ComplexTensor(*_split(aten.view_as_real(value))) if is_whole else value


def _whole(value: Any) -> Any:
    return aten.complex(value.re, value.im) if _is_pair(value) else value


def _is_pair(value: Any) -> bool:
    return isinstance(value, ComplexTensor)
