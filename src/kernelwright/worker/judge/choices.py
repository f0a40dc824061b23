"""What PyTorch may choose freely: the order of equal values in `topk`, an unstable `sort` and their like, and whether a
convolution multiplies the zeros of its padding; and a NaN that no honest kernel needs to notice.

PyTorch does not say which of several equal values comes first, and its own CPU and CUDA kernels differ. So an index is
right if it names a value that equals the expected one, and no index of a row is given twice. Values that forward has
computed are equal if they differ by no more than rounding: `CLOSE` times the error of PyTorch's own. What forward
computes of such indices has a few right results: the one of this device, and those where the first or the last of equal
values is chosen everywhere. `max`, `min`, `argmax` and `argmin` return the first, and are not among these operators.

A zero of the padding times NaN or infinity is NaN, and PyTorch's depthwise kernel for GPUs leaves it out, its others
multiply. The same goes for the gaps and borders of transposed convolutions and of gradients. NaN is expected there; on
inputs with NaN or infinities, any value agrees with it.

Where a draw puts infinities into inputs, sums and products give NaN of which the problem knows nothing. A `nan_to_num`
that is there for rows without any key takes it away. A kernel that computes such rows apart does not, and is right too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

RANKING = frozenset(("topk", "sort"))
"""Operators whose indices are all different along the dimension."""

CHOOSING = RANKING | {"kthvalue", "median", "nanmedian", "mode"}
"""Operators of ATen that return (values, indices), and of equal values any."""

PADDING = {"convolution": ("weight",), "convolution_backward": ("weight", "grad_output")}
"""By operator, the arguments whose elements may be multiplied by a zero of the padding."""

CLOSE = 4.0
"""How far two computed values may differ and count as equal, as a multiple of PyTorch's own largest error in the row.
For a problem's inputs that error is 0, so they have to be equal."""

INDICES = frozenset((torch.int64, torch.int32))
"""Dtypes of indices: PyTorch's own, and the one to which programs convert them."""


@dataclass(frozen=True)
class Pick:
    """What one operator chose. indices: along `dim` of its input, which they have, too. tied: the rows in which values
    are equal. is_ranking: whether no index may come twice. source: a copy of the input, where it was asked for. close:
    of each row, the largest difference of equal values."""

    indices: Tensor
    tied: Tensor
    dim: int
    is_ranking: bool
    source: Tensor | None = None
    close: Tensor | None = None

    def of(self, exact: Tensor | None) -> Pick:
        """This pick, from `exact`: what float64 has for its source."""
        if self.source is None or exact is None or exact.shape != self.source.shape or not exact.is_floating_point():
            return self
        off = (self.source.to(exact.dtype) - exact).abs()
        off = off.where(off.isfinite(), 0.0)  # the same infinity in both, or one that only the narrower dtype reaches
        return replace(self, source=exact, close=CLOSE * off.amax(self.dim, keepdim=True))

    def is_in(self, output: Tensor) -> bool:
        """Whether an output has these indices, or the first of them."""
        if output.dtype not in INDICES:
            return False
        given = output.unsqueeze(self.dim) if output.dim() < self.indices.dim() else output
        if given.dim() != self.indices.dim() or given.shape[self.dim] > self.indices.shape[self.dim]:
            return False
        return torch.equal(given.long(), self.indices.narrow(self.dim, 0, given.shape[self.dim]))

    def settled(self, actual: Tensor, expected: Tensor) -> Tensor:
        """`actual` with the expected index where its own names an equal value. Where no index may come twice, a row in
        which one does, or which has one out of range, becomes -1: no other comparison accepts it either."""
        assert self.source is not None
        size = self.source.shape[self.dim]
        given, wanted = (one.long().unsqueeze(self.dim) if one.dim() < self.source.dim() else one.long()
                         for one in (actual, expected))  # fmt: skip
        inside, known = (given >= 0) & (given < size), (wanted >= 0) & (wanted < size)
        there = self.source.gather(self.dim, given.where(inside, 0))
        here = self.source.gather(self.dim, wanted.where(known, 0))
        right = inside & known & (_equal(there, here) if self.close is None else _close(there, here, self.close))
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
    sources: whether picks keep what they are of. pads: whether convolutions give NaN where they may. keeps_nan: whether
    `nan_to_num` does. met_nan: whether it got one.
    """

    def __init__(
        self, kept: Sequence[Pick] = (), last: bool | None = None, sources: bool = False, pads: bool = False,
        keeps_nan: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kept, self.last, self.sources, self.pads, self.keeps_nan = kept, last, sources, pads, keeps_nan
        self.picks: list[Pick] = []
        self.calls, self.met_nan = 0, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        name = func._schema.name.partition("::")[2]
        if name == "nan_to_num":
            is_nan = args[0].isnan()
            self.met_nan |= bool(is_nan.any())
            return made.where(~is_nan, args[0]) if self.keeps_nan else made
        if name not in CHOOSING and not (self.pads and name in PADDING):
            return made
        given = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
        if name in PADDING:
            return _with_padding(name, made, given)
        source = given["self"]
        if isinstance(made, Tensor) or not source.numel() or not source.dim() or given.get("stable"):
            return made
        return self._picked(name, given, *made)

    def _picked(self, name: str, given: dict[str, Any], values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Values and indices with other ones of equal values, as this run is to choose them."""
        source, dim, is_ranking = given["self"], given.get("dim", -1) % given["self"].dim(), name in RANKING
        is_reduced = indices.dim() < source.dim()
        own, value = (one.unsqueeze(dim) if is_reduced else one for one in (indices, values))
        picked = own.clone()  # forward may change its own
        if self.kept:
            before = self.kept[self.calls % len(self.kept)]
            self.calls += 1
            if before.indices.shape != own.shape:
                return values, indices
            tied, picked = before.tied, torch.where(before.tied, before.indices, own)
        else:
            tied = _has_equal(source.sort(dim).values, dim)
        if self.last is not None:
            turned = source.flip(dim) if self.last else source
            if is_ranking:
                descending = given.get("descending", given.get("largest", name == "topk"))
                found = turned.sort(dim=dim, descending=descending, stable=True).indices.narrow(dim, 0, own.shape[dim])
            else:
                found = _equal(turned, value).byte().argmax(dim, keepdim=True)
            picked = torch.where(tied, source.shape[dim] - 1 - found if self.last else found, own)
        if self.sources or not self.kept:
            self.picks.append(Pick(picked, tied, dim, is_ranking, source.clone() if self.sources else None))
        if not self.kept and self.last is None:
            return values, indices
        chosen, picked = source.gather(dim, picked), picked.clone()
        return (chosen.squeeze(dim), picked.squeeze(dim)) if is_reduced else (chosen, picked)


def keeping(picks: Sequence[Pick]) -> AbstractContextManager[object]:
    """Runs of forward inside take the same of equal values."""
    return Choosing(picks) if picks else nullcontext()


def _with_padding(name: str, made: Any, given: dict[str, Any]) -> Any:
    """The result of a convolution, with NaN where zeros beyond its input may be multiplied by NaN or infinity: in the
    channels of such filters, or everywhere where it is transposed or a gradient."""
    bad = [~given[one].isfinite() for one in PADDING[name]]
    if name == "convolution" and not given["transposed"]:
        channels = bad[0].flatten(1).any(1) & any(given["padding"])
        return made.masked_fill(channels.view(-1, *[1] * (made.dim() - 2)), torch.nan)
    if not any(bool(one.any()) for one in bad):
        return made
    return tree_map(lambda one: one if one is None else torch.full_like(one, torch.nan), made)


def _equal(one: Tensor, other: Tensor) -> Tensor:
    """Where two tensors have the same value; NaN is one value."""
    return (one == other) | (one.isnan() & other.isnan())


def _close(one: Tensor, other: Tensor, most: Tensor) -> Tensor:
    """Where two tensors differ by no more than `most`; infinities have to be the same, and NaN is one value."""
    return _equal(one, other) | ((one - other).abs() <= most)


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
