"""Complex tensors as pairs of real ones, so that kernels, which have no complex numbers, can compute with them.

PyTorch's own `ComplexTensor` states each operator on complex tensors by operators on their parts. Here every complex
tensor becomes one where it is made. A Fourier transform becomes products with cosines and sines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

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
        args, named = tree_map(_paired, (args, kwargs or {}))
        if (function := MADE.get(func)) is not None and (made := function(*args, **named)) is not None:
            return ComplexTensor(*made) if isinstance(made, tuple) else made
        leaves = tree_leaves((args, named))
        with self:  # what it computes with real tensors may become complex, too
            made = NotImplemented
            if any(map(_is_pair, leaves)):
                made = ComplexTensor.__torch_dispatch__(func, types, args, named)
                if made is NotImplemented and func in decomposition_table:  # it moves elements
                    made = decomposition_table[func](*args, **named)
            elif any(isinstance(one, torch.dtype) and one.is_complex for one in leaves):
                made = func.decompose(*args, **named)
                if made is NotImplemented and not any(isinstance(one, complex | Tensor) for one in leaves):
                    real = func(*args, **tree_map_only(torch.dtype, torch.dtype.to_real, named))
                    made = ComplexTensor(real, torch.zeros_like(real))  # zeros, ones, or numbers in a row
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


MOST_IN_SUM = 4096
"""The longest side along which a Fourier transform is a product: PyTorch's own has no public function."""


def _transformed(
    x: tuple[Tensor, Tensor | None], dim: int, sign: int, count: Any = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The first `count` sums over a side, of its elements times exp(sign * 2 pi i * j * k / length)."""
    parts = [one if one is None else one.movedim(dim, -1) for one in x]
    real, imaginary = parts
    assert real is not None
    length = real.shape[-1]
    cosine, sine = _turns(length, length if count is None else count, length, real)
    made = real @ cosine, sign * (real @ sine)
    if imaginary is not None:
        made = made[0] - sign * (imaginary @ sine), made[1] + imaginary @ cosine
    return made[0].movedim(-1, dim), made[1].movedim(-1, dim)


def _turns(rows: Any, columns: Any, length: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of 2 pi * row * column / length."""
    place = torch.arange(rows, device=like.device).unsqueeze(1) * torch.arange(columns, device=like.device)
    angle = (place % length).to(like.dtype) * (2 * math.pi / length)
    return angle.cos(), angle.sin()


def _scaled(parts: tuple[Tensor, ...], sizes: Sequence[Any], normalization: int) -> tuple[Tensor, ...]:
    """normalization: as ATen's; 0: none, 1: by the root of the number of elements, 2: by this number."""
    count = math.prod(sizes)
    scale = count**-0.5 if normalization == 1 else 1 / count
    return tuple(one * scale for one in parts) if normalization else parts


def _is_short(x: Any, dim: Sequence[int], *sizes: Any) -> bool:
    return all(one <= MOST_IN_SUM for one in (*(x.shape[side] for side in dim), *sizes))


def _of_real(x: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    if not _is_short(x, dim):
        return None
    *others, last = dim
    made = _transformed((x, None), last, -1, x.shape[last] // 2 + 1 if onesided else None)
    for side in others:
        made = _transformed(made, side, -1)
    return _scaled(made, [x.shape[side] for side in dim], normalization)


def _of_complex(x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    if not _is_short(x, dim):
        return None
    made = x.re, x.im
    for side in dim:
        made = _transformed(made, side, -1 if forward else 1)
    return _scaled(made, [x.shape[side] for side in dim], normalization)


def _to_real(x: Any, dim: Sequence[int], normalization: int, last_dim_size: Any) -> Any:
    """Of the first half of a spectrum. Every element but the first and the middle one counts twice."""
    if not _is_short(x, dim, last_dim_size):
        return None
    *others, last = dim
    made = x.re, x.im
    for side in others:
        made = _transformed(made, side, 1)
    real, imaginary = (one.movedim(last, -1) for one in made)
    place = torch.arange(real.shape[-1], device=real.device)
    weight = torch.where((place == 0) | (place * 2 == last_dim_size), 1.0, 2.0)
    cosine, sine = _turns(real.shape[-1], last_dim_size, last_dim_size, real)
    found = (real * weight) @ cosine - (imaginary * weight) @ sine
    sizes = [*(x.shape[side] for side in others), last_dim_size]
    return _scaled((found.movedim(-1, last),), sizes, normalization)[0]


MADE: Mapping[Any, Callable[..., Any]] = {
    aten.view_as_complex.default: _split,
    aten.complex.default: lambda real, imaginary: (real, imaginary),
    aten.polar.default: _polar,
    aten._to_copy.default: _cast,
    aten._fft_r2c.default: _of_real,
    aten._fft_c2c.default: _of_complex,
    aten._fft_c2r.default: _to_real,
}
"""Both parts of what an operator makes, or one real tensor; None where it is left to others."""


def _joined(real: Tensor, imaginary: Tensor) -> Tensor:
    return torch.view_as_complex(torch.stack(torch.broadcast_tensors(real, imaginary), -1))


JOINED: Mapping[Any, Callable[..., Any]] = {
    aten.complex.default: _joined,
    aten.polar.default: lambda length, angle: _joined(*_polar(length, angle)),
}
"""Decompositions into views of pairs, of operators that make numbers of the sizes of fake tensors."""


def _paired(value: Any) -> Any:
    """A complex tensor that another operator made, as a pair."""
    is_whole = isinstance(value, Tensor) and value.dtype.is_complex and not _is_pair(value)
    return ComplexTensor(*_split(aten.view_as_real(value))) if is_whole else value


def _whole(value: Any) -> Any:
    return aten.complex(value.re, value.im) if _is_pair(value) else value


def _is_pair(value: Any) -> bool:
    return isinstance(value, ComplexTensor)
