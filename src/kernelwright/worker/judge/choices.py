"""Indices that PyTorch may choose freely: those of equal values in `topk`, an unstable `sort` and their like.

PyTorch does not say which of several equal values comes first there, and its own CPU and CUDA kernels differ. So an
index is right if it names a value that equals the expected one, and no index of a row is given twice. `max`, `min`,
`argmax` and `argmin` return the first, and are not among them.
"""

from __future__ import annotations

from collections.abc import Callable
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
        right = inside & known & ((there == here) | (there.isnan() & here.isnan()))
        made = expected.to(actual.dtype).where(right.reshape(actual.shape), actual)
        if self.is_ranking:
            ordered = given.sort(self.dim).values
            length = max(ordered.shape[self.dim] - 1, 0)
            twice = ordered.narrow(self.dim, min(1, length), length) == ordered.narrow(self.dim, 0, length)
            wrong = twice.any(self.dim, keepdim=True) | ~inside.all(self.dim, keepdim=True)
            made = torch.where(wrong, -1, made)
        return made


class _Choosing(TorchDispatchMode):
    """Notes the indices of CHOOSING operators while forward runs, and copies the values that they are of before forward
    writes over these. Indices that forward changes are no choice any more."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Tensor, Choice]] = []

    def of(self, tensor: Tensor) -> Choice | None:
        """The choice behind a tensor of indices."""
        for indices, choice in reversed(self.found):
            same = indices.data_ptr() == tensor.data_ptr() and indices.dtype == tensor.dtype
            if same and indices.shape == tensor.shape and indices.stride() == tensor.stride():
                return choice
        return None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.is_mutable:
            self._written(func, args, kwargs or {})
        made = func(*args, **(kwargs or {}))
        name = func._schema.name.partition("::")[2]
        if name in COPYING and (choice := self.of(args[0])) is not None and made.dtype in INDICES:
            self.found.append((made, choice))
        if name == "slice" and (choice := self.of(args[0])) is not None and choice.keeps_dim:
            dim = args[1] if len(args) > 1 else 0
            if dim % args[0].dim() == choice.dim:
                self.found.append((made, choice))
        if name in CHOOSING and isinstance(made, tuple | list) and len(made) == 2:
            given = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | (kwargs or {})
            source, dim = given["self"], given.get("dim", -1)
            if source.dim() and not given.get("stable"):
                keeps = made[1].dim() == source.dim()
                self.found.append((made[1], Choice(source, dim % source.dim(), name in RANKING, keeps)))
        return made

    def _written(self, func: Any, args: Any, kwargs: Any) -> None:
        """An operator is about to write to some of its arguments."""
        given = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
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


def choices(run: Callable[[], tuple[Tensor, ...]], produced: tuple[Tensor, ...]) -> list[Choice | None]:
    """For each output how PyTorch may choose its indices; None where it may not, or where they are no indices. run:
    calls forward. produced: the outputs of an earlier call."""
    if not any(one.dtype in INDICES for one in produced):
        return [None] * len(produced)
    with _Choosing() as seen:
        made = run()
    return [seen.of(one) for one in made]
