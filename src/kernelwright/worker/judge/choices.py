"""Indices that PyTorch may choose freely: those of equal values in `topk`, an unstable `sort` and their like.

PyTorch does not say which of several equal values comes first there, and its own CPU and CUDA kernels differ. So an
index is right if it names a value that equals the expected one, and no index of a row is given twice. `max`, `min`,
`argmax` and `argmin` return the first, and are not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

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
        """`actual` with the expected index where its own names an equal value."""
        given, wanted = ((one if self.keeps_dim else one.unsqueeze(self.dim)).long() for one in (actual, expected))
        inside = (given >= 0) & (given < self.source.shape[self.dim])
        there = self.source.gather(self.dim, given.where(inside, 0))
        known = self.source.gather(self.dim, wanted)
        right = inside & ((there == known) | (there.isnan() & known.isnan()))
        if self.is_ranking:
            ordered = given.sort(self.dim).values
            length = ordered.shape[self.dim] - 1
            twice = ordered.narrow(self.dim, 1, length) == ordered.narrow(self.dim, 0, length) if length > 0 else None
            if twice is not None:
                right &= ~twice.any(self.dim, keepdim=True)
        return expected.to(actual.dtype).where(right.view_as(actual), actual)


class _Choosing(TorchDispatchMode):
    """Notes the indices of CHOOSING operators while forward runs."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Tensor, Choice]] = []

    def of(self, tensor: Tensor) -> Choice | None:
        """The choice behind a tensor of indices."""
        for indices, choice in self.found:
            same = indices.data_ptr() == tensor.data_ptr() and indices.dtype == tensor.dtype
            if same and indices.shape == tensor.shape and indices.stride() == tensor.stride():
                return choice
        return None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        name = func._schema.name.partition("::")[2]
        if name in COPYING and (choice := self.of(args[0])) is not None and made.dtype in INDICES:
            self.found.append((made, choice))
        if name in CHOOSING and isinstance(made, tuple | list) and len(made) == 2:
            given = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | (kwargs or {})
            source, dim = given["self"], given.get("dim", -1)
            if source.dim() and not given.get("stable"):
                keeps = made[1].dim() == source.dim()
                self.found.append((made[1], Choice(source, dim % source.dim(), name in RANKING, keeps)))
        return made


def choices(run: Callable[[], tuple[Tensor, ...]], produced: tuple[Tensor, ...]) -> list[Choice | None]:
    """For each output how PyTorch may choose its indices; None where it may not, or where they are no indices. run:
    calls forward. produced: the outputs of an earlier call."""
    if not any(one.dtype in INDICES for one in produced):
        return [None] * len(produced)
    with _Choosing() as seen:
        made = run()
    return [seen.of(one) for one in made]
