"""The elements of each storage that the outputs of a forward depend on, followed from the outputs back to the inputs.

A view is followed exactly. An operator without a rule needs its whole arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

from kernelwright.worker.bounds.tape import Tape, View

LIMIT_ELEMENTS = 1 << 28
"""A storage with more elements gets no mask, which would take a byte for each element. Its parts are counted instead.
"""

PARTS = "of a tensor of more than 2^28 elements only the largest part that is read counts, unless its parts fill it"
NOT_FOLLOWED = "what a tensor of more than 2^28 elements is made from does not count where only a part of it is read"

FINE_ELEMENTS = 1 << 24
"""Limit up to which single elements of an intermediate tensor are followed."""

Wanted = Tensor | Literal[True] | None
"""The wanted elements of a tensor: a mask of its shape, True for all, None for none."""


class Demand:
    """The wanted elements of each storage. given: storages of inputs, parameters and buffers. assumed: as in `Work`."""

    def __init__(self, tape: Tape, given: frozenset[int] = frozenset()) -> None:
        self.given = given
        self.units = tape.units
        self.sizes = {storage: nbytes // self.units[storage] for storage, nbytes in tape.nbytes.items()}
        self.whole: set[int] = set()
        self.masks: dict[int, Tensor] = {}
        self.parts: dict[int, dict[View, int]] = {}
        """For storages too large for a mask: the number of wanted units, by view. A unit is the smallest element."""
        self.assumed: dict[str, None] = {}

    def add(self, view: View, wanted: Wanted = True) -> None:
        """Mark elements of a view as wanted. wanted: a mask may have any shape that broadcasts to the view's."""
        if wanted is None or view.storage in self.whole or 0 in view.shape:
            return
        if wanted is not True:
            wanted = True if bool(wanted.all()) else wanted[(None,) * (len(view.shape) - wanted.dim())]
        if wanted is True and self._covers(view):
            self.whole.add(view.storage)
            self.masks.pop(view.storage, None)
        elif self.sizes[view.storage] > LIMIT_ELEMENTS:
            self._count_part(view, counted(view, wanted))
        else:
            mask = self.masks.get(view.storage)
            if mask is None:
                mask = self.masks[view.storage] = torch.zeros(self.sizes[view.storage], dtype=torch.bool)
            window = self._window(view, mask)
            if wanted is True:
                window.fill_(True)
            else:
                window.masked_fill_(shrunk(wanted, window.shape[: len(view.shape)]).unsqueeze(-1), True)

    def add_at(self, view: View, at: tuple[Tensor, ...], dim: int) -> None:
        """Mark single elements of a view as wanted. at: their places in each dimension.

        In an intermediate tensor of more than FINE_ELEMENTS, all elements along `dim` are marked, because intermediates
        are only followed further and not counted.
        """
        elements = torch.Size(view.shape).numel()
        if elements > LIMIT_ELEMENTS and view.storage in self.given:
            places = sum(
                (one * stride for one, stride in zip(at, view.stride, strict=True)), torch.zeros((), dtype=torch.long)
            )
            self._count_part(view, int(places.unique().numel()))
            return
        is_coarse = elements > FINE_ELEMENTS and view.storage not in self.given
        wanted = torch.zeros([1 if is_coarse and d == dim else n for d, n in enumerate(view.shape)], dtype=torch.bool)
        wanted[tuple(torch.zeros_like(one) if is_coarse and d == dim else one for d, one in enumerate(at))] = True
        self.add(view, wanted)

    def overwrite(self, view: View) -> None:
        """Clear the wanted elements of a view: the current step sets them, so earlier values are not needed."""
        if view.storage in self.whole and self.sizes[view.storage] <= LIMIT_ELEMENTS:
            self.whole.remove(view.storage)
            if not self._covers(view):
                self.masks[view.storage] = torch.ones(self.sizes[view.storage], dtype=torch.bool)
        if view.storage in self.masks:
            self._window(view, self.masks[view.storage]).fill_(False)

    def extent(self, view: View) -> int:
        """Bytes of memory of a view's elements, each counted once."""
        return min(counted(view, True) * view.dtype.itemsize, self.sizes[view.storage] * self.units[view.storage])

    def of(self, view: View) -> Wanted:
        """The wanted elements of a view."""
        if 0 in view.shape:
            return None
        if view.storage in self.whole:
            return True
        if view.storage in self.parts:
            self.assumed[NOT_FOLLOWED] = None
        if view.storage not in self.masks:
            return None
        wanted = self._window(view, self.masks[view.storage]).any(-1).broadcast_to(view.shape)
        if bool(wanted.all()):
            return True
        return wanted.clone() if bool(wanted.any()) else None

    def bytes(self, storage: int) -> int:
        """The number of wanted bytes of a storage."""
        if storage in self.whole:
            return self.sizes[storage] * self.units[storage]
        if storage in self.masks:
            return int(self.masks[storage].sum()) * self.units[storage]
        return max(self.parts.get(storage, {}).values(), default=0) * self.units[storage]

    def _window(self, view: View, mask: Tensor) -> Tensor:
        """The part of a storage's mask that belongs to a view. Dimensions of stride 0 have size 1; an extra last
        dimension runs over the units of one element."""
        units = view.dtype.itemsize // self.units[view.storage]
        shape = [1 if stride == 0 else size for size, stride in zip(view.shape, view.stride, strict=True)]
        strides = [stride * units for stride in view.stride]
        return mask.as_strided([*shape, units], [*strides, 1], view.offset * units)

    def _covers(self, view: View) -> bool:
        """Whether a view covers every element of its storage."""
        units = view.dtype.itemsize // self.units[view.storage]
        dense = 1
        for stride, size in sorted(zip(view.stride, view.shape, strict=True)):
            if size > 1 and stride > 0:
                if stride != dense:
                    return False
                dense *= size
        return dense * units == self.sizes[view.storage]

    def _count_part(self, view: View, count: int) -> None:
        parts = self.parts.setdefault(view.storage, {})
        parts[view] = max(parts.get(view, 0), count * view.dtype.itemsize // self.units[view.storage])
        if sum(parts.values()) >= self.sizes[view.storage]:
            self.whole.add(view.storage)
        elif len(parts) > 1:
            self.assumed[PARTS] = None


def counted(view: View, wanted: Tensor | Literal[True]) -> int:
    """The number of wanted elements of a view in memory; an expanded dimension counts once."""
    shape = [1 if stride == 0 else size for size, stride in zip(view.shape, view.stride, strict=True)]
    if wanted is True:
        return torch.Size(shape).numel()
    folded = shrunk(wanted, shape)
    return int(folded.count_nonzero()) * torch.Size(shape).numel() // folded.numel()


def shrunk(wanted: Tensor, shape: Iterable[int]) -> Tensor:
    """A mask of the tensor before it was broadcast: an element is wanted if one of its copies is. shape: before it."""
    sizes = list(shape)
    while wanted.dim() > len(sizes):
        wanted = wanted.any(0)
    for d, size in enumerate(sizes):
        if size == 1 and wanted.shape[d] != 1:
            wanted = wanted.any(d, keepdim=True)
    return wanted


def either(wanted: Iterable[Wanted]) -> Wanted:
    """The union of several masks of one shape."""
    found: Wanted = None
    for one in wanted:
        if one is True or found is True:
            return True
        found = one if found is None else found if one is None else found | one
    return found
