"""How a problem draws an input of a region: from the range and the structure of what was seen, never the values.

Where no value is known, a number is normal, and an index lies within what it indexes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.fx import Node

from kernelwright.worker.models.regions import RANDOM, Region, arguments_of, name_of, value_of


def draw_text(node: Node, seen: Tensor | None, shape: str, limit: str) -> str:
    """An expression for the values of an input. seen: its values, None where they are not known. shape: the expression
    of its sizes. limit: of an index; "" where it indexes nothing."""
    tensor = value_of(node)
    seen = None if seen is None or not seen.numel() else seen.flatten()
    if tensor.dtype is torch.bool:
        share = 0.5 if seen is None else min(max(float(seen.float().mean()), 0.1), 0.9)
        return f"torch.rand({shape}) < {share:.2g}"
    if not tensor.dtype.is_floating_point:
        kind = "" if tensor.dtype is torch.int64 else f", dtype={tensor.dtype}"
        if seen is None:
            return f"torch.randint(0, {limit or 2}, ({shape},){kind})"
        return _whole_text(seen, tensor.dim(), shape, limit, kind)
    if name_of(node).startswith(RANDOM):
        return f"torch.rand({shape})"
    if seen is None:
        return f"torch.randn({shape})"
    finite = seen[seen.isfinite()].float()
    if finite.numel() < seen.numel():
        return f"torch.zeros({shape}).masked_fill(torch.rand({shape}) < 0.3, float('-inf'))"
    low, high = (float(f"{one:.2g}") for one in (finite.min(), finite.max()))
    is_wide = low < 0 < high and max(-low, high) > 1.5
    return f"torch.randn({shape})" if is_wide else f"torch.rand({shape}) * {high - low or 1.0:.3g} + {low:.3g}"


def _whole_text(flat: Tensor, dims: int, shape: str, limit: str, kind: str) -> str:
    """A permutation stays one, ascending values ascend, and one negative value among others is a sentinel."""
    low, high = int(flat.min()), int(flat.max())
    if dims == 1 and torch.equal(flat.sort().values, torch.arange(low, low + flat.numel(), dtype=flat.dtype)):
        is_ascending = bool((flat.diff() > 0).all())
        if is_ascending or low == 0:
            return f"torch.arange({low}, {low} + {shape}{kind})" if is_ascending else f"torch.randperm({shape}{kind})"
    negative = flat[flat < 0]
    if bool((negative != low).any()) or not negative.numel():
        return f"torch.randint({low}, {limit or high + 1}, ({shape},){kind})"
    share = negative.numel() / flat.numel()
    drawn = f"torch.randint(0, {limit or max(high, 0) + 1}, ({shape},){kind})"
    return f"{drawn}.masked_fill(torch.rand({shape}) < {share:.2g}, {low})"


def indexed(node: Node, region: Region) -> tuple[Node, int] | None:
    """The node, and its dimension, that an input of whole numbers is an index of; None where it is none."""
    for user in region.nodes:
        given = arguments_of(user)
        several = list(given.get("indices") or ()) if isinstance(given.get("indices"), list | tuple) else []
        if name_of(user) == "embedding" and given["indices"] is node:
            return given["weight"], 0
        if given.get("index") is node and "dim" in given:
            return given["self"], int(given["dim"])
        if node in several:
            return given["self"], several.index(node)
    return None


def laid_out(tensor: Tensor, sizes: list[str]) -> tuple[str, str]:
    """The sizes in the order of memory, and what makes the input's order of them: ".permute(…)" or ""."""
    stride = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda place: (-stride[place], place))
    inverse = [order.index(place) for place in range(tensor.dim())]
    dense = torch.empty([tensor.shape[place] for place in order], device="meta").permute(inverse)
    if dense.stride() != stride or inverse == sorted(inverse) or not math.prod(tensor.shape):
        return ", ".join(sizes), ""
    return ", ".join(sizes[place] for place in order), f".permute({', '.join(map(str, inverse))})"
