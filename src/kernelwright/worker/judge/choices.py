"""What PyTorch may choose freely: the order of equal values in `topk`, an unstable `sort` and their like.

PyTorch does not say which of several equal values comes first, and its own CPU and CUDA kernels differ. So an index is
right if it names a value that equals the expected one, and no index of a row is given twice. What forward computes of
such indices has a few right results: the one of this device, and those where the first or the last of equal values is
chosen everywhere. `max`, `min`, `argmax` and `argmin` return the first, and are not among these operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.worker.reference.instance import share_memory

RANKING = frozenset(("topk", "sort"))
"""Operators whose indices are all different along the dimension."""

CHOOSING = RANKING | {"kthvalue", "median", "nanmedian", "mode"}
"""Operators of ATen that return (values, indices), and of equal values any."""

COPYING = frozenset(("_to_copy", "clone"))
"""Operators whose result stands for the indices that they are given."""

INDICES = frozenset((torch.int64, torch.int32))
"""Dtypes of indices: PyTorch's own, and the one to which programs convert them."""

Pick = tuple[Tensor, Tensor]
"""The indices that an operator chose, with the dimension that they are of, and the rows in which two values are equal.
"""


@dataclass(frozen=True)
class Choice:
    """source: the values that the indices are of, as PyTorch has them. dim: of `source`. is_ranking: whether no index
    may come twice. keeps_dim: whether the indices have the dimension, too."""

    source: Tensor
    dim: int
    is_ranking: bool
    keeps_dim: bool

    def settled(self, actual: Tensor, expected: Tensor) -> Tensor:
        """`actual` with the expected index where its own names an equal value. Where no index may come twice, a row in
        which one does, or which has one out of range, becomes -1: no other comparison accepts it either."""
        given, wanted = ((one if self.keeps_dim else one.unsqueeze(self.dim)).long() for one in (actual, expected))
        size = self.source.shape[self.dim]
        inside, known = (given >= 0) & (given < size), (wanted >= 0) & (wanted < size)
        if not size:
            return actual
        there = self.source.gather(self.dim, given.where(inside, 0))
        here = self.source.gather(self.dim, wanted.where(known, 0))
        right = inside & known & _equal(there, here)
        made = expected.to(actual.dtype).where(right.reshape(actual.shape), actual)
        if self.is_ranking:
            ordered = given.sort(self.dim).values
            wrong = _has_equal(ordered, self.dim) | ~inside.all(self.dim, keepdim=True)
            made = torch.where(wrong, -1, made)
        return made


class Choosing(TorchDispatchMode):
    """Sees and changes what CHOOSING operators choose while forward runs.

    kept: the picks of an earlier run, which are taken again in rows with equal values: so runs with rounded or moved
    values differ by no choice. last: take the first (False) or the last (True) of equal values; None: PyTorch's own.
    notes: whether to note which tensors are indices. The values that they are of are copied before forward writes over
    them; indices that forward changes are no choice any more.
    """

    def __init__(self, kept: Sequence[Pick] = (), last: bool | None = None, notes: bool = False) -> None:
        super().__init__()
        self.kept, self.last, self.notes, self.calls = kept, last, notes, 0
        self.picks: list[Pick] = []
        self.found: list[tuple[Tensor, Choice]] = []

    def of(self, tensor: Tensor) -> Choice | None:
        """The choice behind a tensor of indices."""
        for indices, choice in reversed(self.found):
            same = indices.data_ptr() == tensor.data_ptr() and indices.dtype == tensor.dtype
            if same and indices.shape == tensor.shape and indices.stride() == tensor.stride():
                return choice
        return None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
        if self.found and func._schema.is_mutable:
            self._written(func, given)
        made = func(*args, **kwargs)
        name = func._schema.name.partition("::")[2]
        choice = self.of(args[0]) if self.found and name in (*COPYING, "slice") else None
        if choice is not None and (
            made.dtype in INDICES if name in COPYING
            else choice.keeps_dim and given.get("dim", 0) % args[0].dim() == choice.dim
        ):  # fmt: skip
            self.found.append((made, choice))
        if name in CHOOSING and isinstance(made, tuple | list) and len(made) == 2:
            source, dim = given["self"], given.get("dim", -1)
            if source.numel() and source.dim() and not given.get("stable"):
                choice = Choice(source, dim % source.dim(), name in RANKING, made[1].dim() == source.dim())
                values, indices = made
                descending = given.get("descending", given.get("largest", name == "topk"))
                made = self._picked(choice, values, indices, descending)
                if self.notes:
                    self.found.append((made[1], choice))
        return made

    def _picked(self, choice: Choice, values: Tensor, indices: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
        """Values and indices with other ones of equal values, as this run is to choose them."""
        source, dim = choice.source, choice.dim
        own = indices if choice.keeps_dim else indices.unsqueeze(dim)
        if self.kept:
            known, tied = self.kept[self.calls % len(self.kept)]
            self.calls += 1
            if known.shape != own.shape:
                return values, indices
            picked = torch.where(tied, known, own)
        else:
            tied, picked = _has_equal(source.sort(dim).values, dim), own.clone()  # forward may change its own
            if self.last is not None:
                turned = source.flip(dim) if self.last else source
                if choice.is_ranking:
                    found = turned.sort(dim=dim, descending=descending, stable=True).indices
                    found = found.narrow(dim, 0, own.shape[dim])
                else:
                    value = values if choice.keeps_dim else values.unsqueeze(dim)
                    found = _equal(turned, value).byte().argmax(dim, keepdim=True)
                picked = torch.where(tied, source.shape[dim] - 1 - found if self.last else found, own)
            self.picks.append((picked, tied))
        if not (self.kept or self.last is not None) or not bool(tied.any()):
            return values, indices
        chosen = source.gather(dim, picked)
        return (chosen, picked) if choice.keeps_dim else (chosen.squeeze(dim), picked.squeeze(dim))

    def _written(self, func: Any, given: dict[str, Any]) -> None:
        """An operator is about to write to some of its arguments."""
        for argument in func._schema.arguments:
            value = given.get(argument.name)
            if argument.alias_info is not None and argument.alias_info.is_write and isinstance(value, Tensor):
                self._forget(value)

    def _forget(self, value: Tensor) -> None:
        kept = [(indices, choice) for indices, choice in self.found if not share_memory(indices, value)]
        self.found = [
            (indices, replace(choice, source=choice.source.clone()) if share_memory(choice.source, value) else choice)
            for indices, choice in kept
        ]


def _equal(one: Tensor, other: Tensor) -> Tensor:
    """Where two tensors have the same value; NaN is one value."""
    return (one == other) | (one.isnan() & other.isnan())


def _has_equal(ordered: Tensor, dim: int) -> Tensor:
    """For each sorted row along `dim`, whether two of its values are equal."""
    length = max(ordered.shape[dim] - 1, 0)
    return _equal(ordered.narrow(dim, min(1, length), length), ordered.narrow(dim, 0, length)).any(dim, keepdim=True)


def nearest(actual: Tensor, expected: Tensor, others: Sequence[Tensor]) -> Tensor:
    """For each row of `actual` along its last dimension, that of `expected` and `others` which is nearest to it."""
    if not others or not actual.numel():
        return expected
    off = torch.stack([_distance(actual, one) for one in (expected, *others)])
    choice = off.argmin(0, keepdim=True)
    return torch.stack((expected, *others)).gather(0, choice.expand(1, *expected.shape))[0]


def _distance(actual: Tensor, expected: Tensor) -> Tensor:
    """The largest difference in each row, which is kept as a dimension; infinite where NaN or infinities differ."""
    made = actual.to(expected.dtype)
    apart = made - expected if made.is_complex() else made.double() - expected.double()
    off = torch.where(_equal(made, expected), 0.0, apart.abs().nan_to_num(torch.inf))
    return off.amax(-1, keepdim=True) if off.dim() else off
