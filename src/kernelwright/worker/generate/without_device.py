"""Replacements for functions of torch that need a device even on fake tensors, or whose arguments cannot be symbols."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import SymFloat, SymInt, Tensor
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.overrides import TorchFunctionMode

from kernelwright.worker.reference.instance import HALF

aten = torch.ops.aten


MOST_NUMBERS = 64
"""The longest list of numbers that becomes a tensor in a kernel, which selects one of them for each element."""


class WithoutDevice(TorchFunctionMode):
    """Computes `torch.tensor([0.5, 1.0])` by fills, because tracing would compute it on the device, and functions that
    need the device, or whose arguments cannot be symbols, by others (`COMPOSED`)."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func is Tensor.new_tensor:
            given = {"dtype": args[0].dtype, "device": args[0].device, **given}
            func, args = torch.tensor, args[1:]
        if func in (torch.tensor, torch.as_tensor) and args and 0 < len(kinds := _kinds(args[0])) <= MOST_NUMBERS:
            dtypes = (torch.bool, torch.int64, torch.get_default_dtype())
            return _filled(args[0], given.get("dtype") or dtypes[max(kinds)], given.get("device"))
        made = COMPOSED[func](*args, **given) if func in COMPOSED else None
        return func(*args, **given) if made is None else made


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
    if others or not items[at] or any(isinstance(one, Tensor) for one in items):
        return None
    before, after = items[:at], items[at + 1 :]
    parts = [subscript(x, (*before, one, *after)) if isinstance(one, int | SymInt) else None for one in items[at]]
    kept = [sum(not isinstance(one, int | SymInt) for one in side) for side in (before, after)]
    dim = -1 - kept[1] if Ellipsis in before else kept[0]
    return None if any(one is None for one in parts) else torch.stack([one for one in parts if one is not None], dim)


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


def _kinds(data: Any) -> list[int]:
    """The place in `KINDS` of each number in nested lists; empty where they hold anything else."""
    if isinstance(data, list | tuple):
        found = [_kinds(one) for one in data]
        return [kind for one in found for kind in one] if all(found) else []
    return [place for place, kinds in enumerate(KINDS) if type(data) in kinds]


KINDS = ((bool,), (int, SymInt), (float, SymFloat))


def _filled(data: Any, dtype: torch.dtype, device: Any) -> Tensor:
    if isinstance(data, list | tuple):
        return torch.stack([_filled(one, dtype, device) for one in data])
    return torch.full((), data, dtype=dtype, device=device)


def _bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor | None:  # fmt: skip
    """`embedding_bag`; None where rows are left out or changed, and for the largest of bags that begin at offsets."""
    if max_norm is not None or padding_idx is not None:
        return None
    rows = torch.nn.functional.embedding(input, weight)
    rows = rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(-1)
    if offsets is None:
        return rows.amax(1) if mode == "max" else rows.mean(1) if mode == "mean" else rows.sum(1)
    if mode == "max":
        return None
    places = torch.arange(input.shape[0], device=input.device, dtype=offsets.dtype)
    bags = offsets[:-1] if include_last_offset else offsets
    bag = torch.bucketize(places, bags, right=True) - 1
    total = rows.new_zeros(bags.shape[0], rows.shape[1]).index_add(0, bag, rows)
    if mode == "sum":
        return total
    ends = offsets[1:] if include_last_offset else torch.cat((offsets[1:], offsets.new_full((1,), input.shape[0])))
    return total / (ends - bags).clamp(min=1).unsqueeze(-1)


def _bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    made = (torch.einsum("...i,oij->...oj", input1, weight) * input2.unsqueeze(-2)).sum(-1)
    return made if bias is None else made + bias


MOST_SINGLY = 25
"""With more rows on either side PyTorch computes Euclidean distances from a product: ATen/native/Distance.cpp."""


def _cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor | None:
    """`cdist`; None where PyTorch computes it from a product."""
    if p == 2 and compute_mode != "donot_use_mm_for_euclid_dist":
        is_long = x1.shape[-2] > MOST_SINGLY or x2.shape[-2] > MOST_SINGLY
        if is_long or compute_mode == "use_mm_for_euclid_dist":
            return None
    made: Tensor = torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
    return made


def _stft(
    input: Tensor, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor | None:  # fmt: skip
    """Transforms of windows of a real signal, which PyTorch's own turns in place; None for others."""
    if input.is_complex() or input.dim() != 2 or align_to_window is not None:
        return None
    if window is not None and (missing := n_fft - window.shape[0]):
        window = torch.nn.functional.pad(window, (missing // 2, missing - missing // 2))
    padded = torch.nn.functional.pad(input, (n_fft // 2, n_fft // 2), pad_mode) if center else input
    frames = padded.unfold(-1, n_fft, hop_length or n_fft // 4)
    frames = frames if window is None else frames * window
    transform = torch.fft.fft if onesided is False else torch.fft.rfft
    made: Tensor = transform(frames, norm="ortho" if normalized else None).transpose(-2, -1)
    return made if return_complex else torch.view_as_real(made)


def _one_hot(input: Tensor, num_classes: Any = -1) -> Tensor | None:
    """`one_hot` whose number of classes may be a symbol; None where it follows from the values."""
    if isinstance(num_classes, int) and num_classes < 0:
        return None
    return (input.unsqueeze(-1) == torch.arange(num_classes, device=input.device)).long()


def _interpolate(input: Tensor, size: Any = None, *args: Any, **named: Any) -> Tensor | None:
    """`interpolate` to the size that is there, which copies; torch's decomposition multiplies the neighbour by 0, which
    makes NaN of infinity. None to others."""
    sides = input.shape[2:]
    sizes = size if isinstance(size, list | tuple) else [size] * len(sides)
    is_same = size is not None and all(statically_known_true(a == b) for a, b in zip(sizes, sides, strict=True))
    return input.clone() if is_same else None


def _grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor | None:
    """`grid_sample` of volumes with zeros around them, which torch does not decompose; None of others."""
    if input.dim() != 5 or (mode, padding_mode) != ("bilinear", "zeros"):
        return None
    sizes, places, made = input.shape[:1:-1], grid.unbind(-1), torch.zeros((), dtype=input.dtype, device=input.device)
    sides = [(((at + 1) / 2) * (size - 1) if align_corners else ((at + 1) * size - 1) / 2, size)
             for at, size in zip(places, sizes, strict=True)]  # fmt: skip
    for corner in itertools.product((0, 1), repeat=3):
        index, weight = torch.zeros_like(places[0], dtype=torch.int64), torch.ones_like(places[0])
        is_inside = weight > 0
        for above, (at, size) in [*zip(corner, sides, strict=True)][::-1]:
            place = at.floor() + above
            weight = weight * (1 - (at - place).abs())
            is_inside = is_inside & (place >= 0) & (place < size)
            index = index * size + torch.where(is_inside, place, 0).long()
        index, is_inside = index.flatten(1).unsqueeze(1).expand(-1, input.shape[1], -1), is_inside.unsqueeze(1)
        found = input.flatten(2).gather(2, index).view(*input.shape[:2], *grid.shape[1:4])
        made = made + torch.where(is_inside, found * weight.unsqueeze(1), 0.0)
    return made


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor | None:  # fmt: skip
    """Attention in half precision as the framework's fused kernels round it: scores in float32, probabilities as the
    values. None in other dtypes, which torch's own composition serves."""
    if query.dtype not in HALF or dropout_p:
        return None
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    scores = query.float() @ key.float().mT * (1 / query.shape[-1] ** 0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    shares: Tensor = aten._safe_softmax(scores, -1)
    return shares.to(value.dtype) @ value


COMPOSED: Mapping[Any, Callable[..., Tensor | None]] = {
    torch.nn.functional.embedding_bag: _bag, torch.nn.functional.bilinear: _bilinear, torch.cdist: _cdist,
    torch.stft: _stft, torch.nn.functional.interpolate: _interpolate,
    torch.nn.functional.grid_sample: _grid_sample,
    torch.nn.functional.one_hot: _one_hot, torch.nn.functional.scaled_dot_product_attention: _attention,
}  # fmt: skip
