"""Replacements for functions of torch that need a device even on fake tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import SymInt, Tensor
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten


class WithoutDevice(TorchFunctionMode):
    """Computes `torch.tensor(0.5)` as a fill, because tracing would compute it on the device."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func is Tensor.new_tensor:
            given = {"dtype": args[0].dtype, "device": args[0].device, **given}
            func, args = torch.tensor, args[1:]
        if func in (torch.tensor, torch.as_tensor) and args and (one := _one_number(args[0])) is not None:
            kinds = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
            shape, number = one
            dtype = given.get("dtype") or kinds[type(number)]
            return torch.full(shape, number, dtype=dtype, device=given.get("device"))
        return func(*args, **given)


def install(device: str = "cuda") -> None:
    """Let methods of tensors on the device compute by operators what torch's do under a device guard, in this process
    and until it ends: subscripts as slices and selections, `~x`, copies. Torch's own decompositions call them, too."""
    read, write, invert, copy = Tensor.__getitem__, Tensor.__setitem__, Tensor.__invert__, Tensor.copy_

    def subscripted(x: Tensor, index: Any) -> Any:
        found = subscript(x, index) if x.device.type == device else None
        return read(x, index) if found is None else found

    def written(x: Tensor, index: Any, value: Any) -> None:
        place = _place(x, index) if x.device.type == device else None
        if place is None:
            write(x, index, value)
        else:
            _write(*place, value)

    def inverted(x: Tensor) -> Tensor:
        return torch.bitwise_not(x) if x.device.type == device else invert(x)

    def copied(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return aten.copy_.default(x, *args, **kwargs) if x.device.type == device else copy(x, *args, **kwargs)

    for method, name in ((subscripted, "getitem"), (written, "setitem"), (inverted, "invert")):
        setattr(Tensor, f"__{name}__", method)
    Tensor.copy_ = copied  # type: ignore[assignment, method-assign]


def subscript(x: Tensor, index: Any) -> Tensor | None:
    """`x[index]`; None if an item of the index is no number, slice, None, ellipsis or tensor, nor the only list of
    numbers in an index without tensors."""
    if isinstance(index, list) or (isinstance(index, tuple) and any(isinstance(one, list) for one in index)):
        return _by_list(x, index if isinstance(index, tuple) else (index,))
    if (place := _place(x, index)) is None:
        return None
    x, indices = place
    found: Tensor = aten.index.Tensor(x, indices) if indices else aten.alias.default(x)
    return found


def _by_list(x: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """`x[items]`, with one list of numbers among the items, as a stack of the parts that its numbers select."""
    [at, *others] = [place for place, one in enumerate(items) if isinstance(one, list)]
    if others or not items[at] or not all(type(one) is int or isinstance(one, SymInt) for one in items[at]):
        return None
    parts = [_place(x, (*items[:at], one, *items[at + 1 :])) for one in items[at]]
    if any(one is None or one[1] for one in parts):
        return None
    taken = sum(map(_sides, items))
    dim = sum(x.dim() - taken if one is Ellipsis else not isinstance(one, int | SymInt) for one in items[:at])
    return torch.stack([one[0] for one in parts if one is not None], dim)


def _place(x: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]] | None:
    """The view of x with the numbers and slices of an index, and the tensors that index its dimensions, which are empty
    where there is none. None for other items."""
    items = list(index) if isinstance(index, tuple) else [index]
    if not all(
        one is None or one is Ellipsis or type(one) is int or isinstance(one, slice | Tensor | SymInt) for one in items
    ):
        return None
    taken = sum(_sides(one) for one in items)
    places = [place for place, one in enumerate(items) if one is Ellipsis]
    if places:
        items[places[0] : places[0] + 1] = [slice(None)] * (x.dim() - taken)
    dim, indices = 0, list[Tensor | None]()
    for item in items:
        if isinstance(item, int | SymInt):
            x = aten.select.int(x, dim, item)
            continue
        if item is None:
            x = x.unsqueeze(dim)
        elif isinstance(item, slice):
            x = aten.slice.Tensor(x, dim, item.start, item.stop, item.step or 1)
        indices.append(item if isinstance(item, Tensor) else None)
        dim += max(1, _sides(item))
    return x, indices if any(one is not None for one in indices) else []


def _write(x: Tensor, indices: list[Tensor | None], value: Any) -> None:
    """Write the value into x at the indices; everywhere if there are none."""
    given = value.to(x.dtype) if isinstance(value, Tensor) else torch.full((), value, dtype=x.dtype, device=x.device)
    if indices:
        aten.index_put_.default(x, indices, given)
    else:
        aten.copy_.default(x, given)


def _sides(item: Any) -> int:
    """How many dimensions of the tensor an item of the index takes."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8) else 1


def _one_number(data: Any) -> tuple[tuple[int, ...], bool | int | float] | None:
    """The shape and the number of a number, or of a list of one number; None for other data."""
    if isinstance(data, bool | int | float):
        return (), data
    if isinstance(data, list | tuple) and len(data) == 1 and (inner := _one_number(data[0])) is not None:
        return (1, *inner[0]), inner[1]
    return None
