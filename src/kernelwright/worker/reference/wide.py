"""What `forward` makes itself, in the dtype that the reference is computed in.

A state, a mask or a position that `forward` makes is float32 where nothing else is said, and the reference is computed
in float64. So what has no dtype gets the wide one, and an operator that refuses operands of two dtypes gets them in the
wider of the two. What `forward` casts on purpose stays cast.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map


@contextmanager
def computed_in(dtype: torch.dtype | None) -> Iterator[None]:
    """New tensors in `dtype` inside, and mixed operands in the wider one; as PyTorch has it where None."""
    if dtype is None:
        yield
        return
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with _Widening():
            yield
    finally:
        torch.set_default_dtype(before)


class _Widening(TorchFunctionMode):
    """Calls once more, in one dtype, what refuses floating-point operands of several."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except (RuntimeError, ValueError):
            found = {leaf.dtype for leaf in tree_leaves((args, kwargs)) if _is_float(leaf)}
            if len(found) < 2:
                raise
            wanted = args[0].dtype if _changes_its_first(func, args) else max(found, key=_precision)
            args, kwargs = tree_map(lambda leaf: leaf.to(wanted) if _is_float(leaf) else leaf, (args, kwargs))
            return func(*args, **kwargs)


def _is_float(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _precision(dtype: torch.dtype) -> tuple[float, int]:
    return -torch.finfo(dtype).eps, dtype.itemsize


def _changes_its_first(func: Any, args: Any) -> bool:
    """Whether an operator writes to its first argument, whose dtype then stays."""
    name = getattr(func, "__name__", "")
    is_in_place = (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"
    return is_in_place and bool(args) and _is_float(args[0])
