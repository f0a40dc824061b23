"""Replacements for functions of torch that need a device even on fake tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten


class WithoutDevice(TorchFunctionMode):
    """Computes subscripts as slices and selections, because torch without CUDA has no device guard for subscripts.
    Computes `torch.tensor(0.5)` as a fill, because tracing would compute it on the device."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func is Tensor.__getitem__ and (found := subscript(*args)) is not None:
            return found
        if func is Tensor.__setitem__ and (found := subscript(*args[:2])) is not None and not _has_tensor(args[1]):
            value = args[2]
            return found.copy_(value) if isinstance(value, Tensor) else found.fill_(value)
        if func is torch.tensor and args and isinstance(args[0], bool | int | float):
            kinds = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
            dtype = given.get("dtype") or kinds[type(args[0])]
            return torch.full((), args[0], dtype=dtype, device=given.get("device"))
        return func(*args, **given)


def subscript(x: Tensor, index: Any) -> Tensor | None:
    """`x[index]`; None if an item of the index is no number, slice, None, ellipsis or tensor."""
    items = list(index) if isinstance(index, tuple) else [index]
    if not all(one is None or one is Ellipsis or type(one) is int or isinstance(one, slice | Tensor) for one in items):
        return None
    taken = sum(_sides(one) for one in items)
    places = [place for place, one in enumerate(items) if one is Ellipsis]
    if places:
        items[places[0] : places[0] + 1] = [slice(None)] * (x.dim() - taken)
    dim, gathered, indices = 0, False, list[Tensor | None]()
    for item in items:
        if isinstance(item, int):
            x = aten.select.int(x, dim, item)
            continue
        if item is None:
            x = x.unsqueeze(dim)
        elif isinstance(item, slice):
            x = aten.slice.Tensor(x, dim, item.start, item.stop, item.step or 1)
        indices.append(item if isinstance(item, Tensor) else None)
        gathered = gathered or isinstance(item, Tensor)
        dim += max(1, _sides(item))
    found: Tensor = aten.index.Tensor(x, indices) if gathered else aten.alias.default(x)
    return found


def _sides(item: Any) -> int:
    """How many dimensions of the tensor an item of the index takes."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8) else 1


def _has_tensor(index: Any) -> bool:
    return any(isinstance(one, Tensor) for one in (index if isinstance(index, tuple) else (index,)))
