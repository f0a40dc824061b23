"""The rows of choices: results of operators that may rightly be another one, which no tolerance expresses.

What forward computes of indices of equal values has a few right results: that of this device, those where the first or
the last of equal values is chosen everywhere, and that of the right indices among the outputs. Values that forward has
computed are equal if they differ by no more than rounding: `CLOSE` times the error of PyTorch's own. The operators of
FIRST return the first of values that are equal in every precision.

PyTorch's depthwise convolution for GPUs leaves the zeros of a padding out, its others multiply them: NaN is expected
there, and on inputs with NaN or infinities any value agrees with it. What a cast of no whole number changes is free
(`freed`). A `nan_to_num` that is there for rows without any key, or a mask of minus infinity, takes away a NaN of which
the problem knows nothing: a kernel that computes such rows apart, or adds minus infinity, keeps it and is right too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from kernelwright.worker.judge import rounding
from kernelwright.worker.judge.untouched import same_values
from kernelwright.worker.reference.instance import arguments_of, operator_name

FIRST = frozenset(("max", "min", "argmax", "argmin"))
"""Operators that return the first of equal values, as PyTorch documents."""

PADDING = {"convolution": ("weight",), "convolution_backward": ("weight", "grad_output")}
"""By operator, the arguments whose elements may be multiplied by a zero of the padding."""

CLOSE = 4.0
"""How far two computed values may differ and count as equal, as a multiple of PyTorch's own largest error in the row.
For a problem's inputs that error is 0, so they have to be equal."""

WHOLE = frozenset((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))
"""Dtypes for which a cast of NaN, infinity or a number out of range is undefined."""

CASTS = frozenset(("_to_copy", "copy_"))

KEEPS = frozenset(("nan_to_num", "masked_fill", "where"))

INDICES = frozenset((torch.int64, torch.int32))
"""Dtypes of indices: PyTorch's own, and the one to which programs convert them."""


@dataclass(frozen=True)
class Pick:
    """What one operator chose. indices: along `dim` of its input, which they have, too. tied: the rows in which values
    are equal. is_ranking: whether no index may come twice. is_first: whether it is one of FIRST. source: a copy of the
    input, where it was asked for. own: PyTorch's, where `source` is float64's. close: of each row, the largest
    difference of equal values.
    """

    indices: Tensor
    tied: Tensor
    dim: int
    is_ranking: bool
    source: Tensor | None = None
    is_first: bool = False
    own: Tensor | None = None
    close: Tensor | None = None

    def of(self, exact: Tensor | None) -> Pick:
        """This pick, from `exact`: what float64 has for its source."""
        if self.source is None or exact is None or exact.shape != self.source.shape or not exact.is_floating_point():
            return self
        off = (self.source.to(exact.dtype) - exact).abs()
        off = off.where(off.isfinite(), 0.0)  # the same infinity in both, or one that only the narrower dtype reaches
        return replace(self, source=exact, own=self.source, close=CLOSE * off.amax(self.dim, keepdim=True))

    def near(self) -> Tensor | None:
        """The rows in which another value is close to a chosen one and differs in some precision; None if there are
        none."""
        if self.source is None or self.close is None or not bool(self.close.any()):
            return None
        if self.is_ranking:
            ordered = self.source.sort(self.dim).values
            length = ordered.shape[self.dim] - 1
            apart = ordered.narrow(self.dim, 1, length) - ordered.narrow(self.dim, 0, length)
            found = (apart > 0) & (apart <= self.close)
        else:
            found = _close(self.source, self.source.gather(self.dim, self.indices), self.close)
            found &= ~self.same_as(self.source, self.indices)
        found = found.any(self.dim, keepdim=True)
        return found if bool(found.any()) else None

    def same_as(self, source: Tensor, places: Tensor) -> Tensor:
        """Where values equal those at `places` in every precision. source: this pick's."""
        same = same_values(source, source.gather(self.dim, places))
        return same if self.own is None else same & same_values(self.own, self.own.gather(self.dim, places))

    def is_in(self, output: Tensor) -> bool:
        """Whether an output has these indices, or the first of them."""
        if output.dtype not in INDICES:
            return False
        given = output.unsqueeze(self.dim) if output.dim() < self.indices.dim() else output
        if given.dim() != self.indices.dim() or given.shape[self.dim] > self.indices.shape[self.dim]:
            return False
        return torch.equal(given.long(), self.indices.narrow(self.dim, 0, given.shape[self.dim]))

    def settled(self, actual: Tensor, expected: Tensor) -> Tensor:
        """`actual` with the expected indices in rows whose own name equal values. Where no index may come twice, a row
        in which one does, or which has one out of range, becomes -1: no other comparison accepts it either."""
        assert self.source is not None
        size = self.source.shape[self.dim]
        given, wanted = (one.long().unsqueeze(self.dim) if one.dim() < self.source.dim() else one.long()
                         for one in (actual, expected))  # fmt: skip
        inside, known = (given >= 0) & (given < size), (wanted >= 0) & (wanted < size)
        there = self.source.gather(self.dim, given.where(inside, 0))
        here = self.source.gather(self.dim, wanted.where(known, 0))
        right = inside & known & (same_values(there, here) if self.close is None else _close(there, here, self.close))
        if self.is_first:
            right &= _place_of(self.same_as(self.source, given.where(inside, 0)), self.dim) == given
        made = wanted.where(right.all(self.dim, keepdim=True), given)
        if self.is_ranking:
            ordered = given.sort(self.dim).values
            wrong = _has_equal(ordered, self.dim) | ~inside.all(self.dim, keepdim=True)
            made = torch.where(wrong, -1, made)
        return made.view(actual.shape).to(actual.dtype)

    def as_in(self, actual: Tensor, expected: Tensor, kept: Pick) -> Pick:
        """`kept`, whose indices are `expected`, with those of `actual` in the rows in which they are as right."""
        given, wanted, found = (one.long().unsqueeze(self.dim) if one.dim() < kept.indices.dim() else one.long()
                                for one in (actual, expected, self.settled(actual, expected)))  # fmt: skip
        if given.shape != kept.indices.shape:
            return kept
        right = (found == wanted).all(self.dim, keepdim=True)
        return replace(kept, indices=given.where(right, kept.indices))


class Choosing(TorchDispatchMode):
    """Sees and changes what operators choose while forward runs (`CHOICES`).

    kept: the picks of an earlier run, which are taken again in rows with equal values: so runs with rounded or moved
    values differ by no choice. last: take the first (False) or the last (True) of equal values, for each pick in turn;
    empty: PyTorch's own.
    near: the picks of an earlier run, with the differences up to which values are equal then; half: whether ranks begin
    half of such a difference later. sources: whether picks keep what they are of. pads: whether convolutions give NaN
    where they may. keeps_nan: whether those of KEEPS do. met_nan: whether one got one. end: what a cast of no
    whole number gives: the least (0) or the largest (1) number of the dtype; None: PyTorch's own. met_free: whether
    there was such a cast. ran: the operators that forward called.
    """

    def __init__(
        self, kept: Sequence[Pick] = (), last: Sequence[bool] = (), sources: bool = False, pads: bool = False,
        keeps_nan: bool = False, near: Sequence[Pick] = (), half: bool = False, end: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kept, self.lasts, self.sources, self.pads, self.keeps_nan = kept, last, sources, pads, keeps_nan
        self.near, self.half, self.end = near, half, end
        self.picks: list[Pick] = []
        self.calls, self.last, self.met_nan, self.met_free = 0, False, False, False
        self.ran: set[str] = set()
        self.rows: dict[Any, Choice | None] = {}  # of these operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        if func not in self.rows:
            self.ran.add(operator_name(func))
            self.rows[func] = next((one for one in CHOICES.values() if one.is_for(func)), None)
        row = self.rows[func]
        return made if row is None else row.made(self, func, made, arguments_of(func, args, kwargs))

    def chosen(self, func: Any, made: Any, given: dict[str, Any]) -> Any:
        """Values and indices, or indices alone, as this run is to choose them."""
        source, dim, is_first = given["self"], given["dim"], _is_first(func)
        if not source.numel() or not source.dim() or given.get("stable"):
            return made
        if is_first and source.numel() > rounding.LARGE_ELEMENTS:
            return made
        if dim is None:
            source, dim = source.flatten(), 0
        values, indices = (None, made) if isinstance(made, Tensor) else made
        picked = self._picked(source, dim % source.dim(), indices, given, is_first)
        if not self.kept and not self.lasts:
            return made
        picked, chosen = (one.view(indices.shape) for one in (picked, source.gather(dim, picked)))
        return picked if values is None else (chosen, picked)

    def with_nan(self, func: Any, made: Tensor, given: dict[str, Any]) -> Tensor:
        """A result without NaN, or with the NaN of its input where this run keeps them: of a mask of minus infinity,
        with what is NaN where that is added."""
        if not isinstance(given["self"], Tensor):
            return made  # `where` of two numbers
        least = given.get("value", given.get("other"))
        lost = given["self"].isnan() if least is None else (given["self"] + least).isnan() & (made == -torch.inf)
        self.met_nan |= bool(lost.any())
        return made.masked_fill(lost, torch.nan) if self.keeps_nan and bool(lost.any()) else made

    def cast(self, func: Any, made: Any, given: dict[str, Any]) -> Any:
        """Whole numbers that were cast from floats, with those of no whole number as this run is to have them."""
        source = given.get("src", given["self"])
        if not isinstance(source, Tensor) or not source.is_floating_point() or made.dtype not in WHOLE:
            return made
        ends = torch.iinfo(made.dtype)
        wide = source.double().trunc()
        free = ~((wide >= ends.min) & (wide < ends.max + 1.0))
        self.met_free |= bool(free.any())
        if self.end is None or not self.met_free:
            return made
        changed = made.masked_fill(free.expand(made.shape), (ends.min, ends.max)[self.end])
        return given["self"].copy_(changed) if "src" in given else changed

    def padded(self, func: Any, made: Any, given: dict[str, Any]) -> Any:
        """The result of a convolution, with NaN where zeros beyond its input may be multiplied by NaN or infinity: in
        the channels of such filters, or everywhere where it is transposed or a gradient."""
        if not self.pads:
            return made
        bad = [~given[one].isfinite() for one in PADDING[operator_name(func)]]
        if "transposed" in given and "grad_output" not in given and not given["transposed"]:
            channels = bad[0].flatten(1).any(1) & any(given["padding"])
            return made.masked_fill(channels.view(-1, *[1] * (made.dim() - 2)), torch.nan)
        if not any(bool(one.any()) for one in bad):
            return made
        return tree_map(lambda one: one if one is None else torch.full_like(one, torch.nan), made)

    def _picked(self, source: Tensor, dim: int, made: Tensor, given: dict[str, Any], is_first: bool) -> Tensor:
        """The indices that this run is to choose, along `dim` of `source`. made: PyTorch's."""
        own = made.reshape(-1) if source.dim() == 1 else made.unsqueeze(dim) if made.dim() < source.dim() else made
        is_ranking, before = "keepdim" not in given, self.kept or self.near
        known = before[self.calls % len(before)] if before else None
        self.last = bool(self.lasts) and self.lasts[self.calls % len(self.lasts)]
        self.calls += 1
        if known is not None and known.indices.shape != own.shape:
            return own
        if known is not None:
            tied = known.tied
        elif is_ranking:
            tied = _has_equal(source.sort(dim).values, dim)
        else:
            tied = same_values(source, source.gather(dim, own)).sum(dim, keepdim=True) > 1
        picked = own.clone()  # forward may change its own
        if self.kept and known is not None:
            picked = torch.where(tied, known.indices, own)
        elif self.lasts:
            close = None if known is None else known.close
            if is_ranking:
                found = self._of_equal_ranks(source, dim, own.shape[dim], given, close)
            elif known is not None and close is not None:
                others = _close(source, source.gather(dim, own), close) & ~known.same_as(source, own)
                found = torch.where(others.any(dim, keepdim=True), self._one_of(others, dim), own)
            else:
                found = own if is_first else self._one_of(same_values(source, source.gather(dim, own)), dim)
            if is_first and known is not None:
                found = _place_of(known.same_as(source, found), dim)
            picked = torch.where(tied, found, own)
        if self.sources or not self.kept:
            self.picks.append(Pick(picked, tied, dim, is_ranking, source.clone() if self.sources else None, is_first))
        return picked.clone()

    def _one_of(self, mask: Tensor, dim: int) -> Tensor:
        """The first or the last place along `dim` where a mask holds."""
        return mask.shape[dim] - 1 - _place_of(mask.flip(dim), dim) if self.last else _place_of(mask, dim)

    def _of_equal_ranks(
        self, source: Tensor, dim: int, count: int, given: dict[str, Any], close: Tensor | None
    ) -> Tensor:  # fmt: skip
        """The indices of the first `count` values in order, the first or the last of equal or close ones first."""
        if close is not None:
            steps = (source / close + self.half / 2).round()
            source = torch.where(steps.isfinite(), steps, source)
        turned = source.flip(dim) if self.last else source
        order = turned.sort(dim=dim, descending=bool(given.get("descending", given.get("largest"))), stable=True)
        found = order.indices.narrow(dim, 0, count)
        return source.shape[dim] - 1 - found if self.last else found


@functools.cache
def _is_first(func: Any) -> bool:
    """Whether an operator returns the first of equal values of a dimension."""
    return operator_name(func) in FIRST and "keepdim" in {one.name for one in func._schema.arguments}


@functools.cache
def _is_free(func: Any) -> bool:
    """Whether an operator returns values of a dimension and their indices: one of each row, or several in order.
    Cumulative operators return one for each element, and PyTorch's devices agree on these."""
    names = {one.name for one in func._schema.arguments}
    returned = [one.name for one in func._schema.returns]
    return (
        not _is_first(func) and returned == ["values", "indices"] and bool(names & {"keepdim", "largest", "descending"})
    )


@dataclass(frozen=True)
class Choice:
    """Operators that may rightly give one of a few results. is_for: whether an operator is one. made: a method of
    `Choosing`, which makes the result in its run from PyTorch's and the arguments by name."""

    is_for: Callable[[Any], bool]
    made: Callable[[Choosing, Any, Any, dict[str, Any]], Any]


CHOICES = {
    "equal values in any order": Choice(_is_free, Choosing.chosen),
    "the first of values that rounding moves": Choice(_is_first, Choosing.chosen),
    "zeros of a padding": Choice(lambda func: operator_name(func) in PADDING, Choosing.padded),
    "a cast of no whole number": Choice(lambda func: operator_name(func) in CASTS, Choosing.cast),
    "a NaN of a draw's infinities": Choice(lambda func: operator_name(func) in KEEPS, Choosing.with_nan),
}
"""The rows of choices; `rounding.ROWS` has those of rounding. Without any one an honest kernel is refused."""


def keeping(picks: Sequence[Pick]) -> AbstractContextManager[object]:
    """Runs of forward inside take the same of equal values."""
    return Choosing(picks) if picks else nullcontext()


def _place_of(mask: Tensor, dim: int) -> Tensor:
    """The first place along `dim` where a mask holds."""
    return mask.byte().argmax(dim, keepdim=True)


def _close(one: Tensor, other: Tensor, most: Tensor) -> Tensor:
    """Where two tensors differ by no more than `most`; infinities have to be the same, and NaN is one value."""
    return same_values(one, other) | ((one - other).abs() <= most)


def _has_equal(ordered: Tensor, dim: int) -> Tensor:
    """For each sorted row along `dim`, whether two of its values are equal."""
    length = max(ordered.shape[dim] - 1, 0)
    return same_values(ordered.narrow(dim, min(1, length), length), ordered.narrow(dim, 0, length)).any(
        dim, keepdim=True
    )


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
    off = torch.where(same_values(made, expected), 0.0, apart.abs().nan_to_num(torch.inf))
    return off.amax(-1, keepdim=True) if off.dim() else off
