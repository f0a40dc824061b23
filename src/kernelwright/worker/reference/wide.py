"""The dtype of tensors that `forward` creates itself, in the float64 reference.

A state, a mask or a position that `forward` creates is float32 by default. In the float64 reference, a tensor without
a stated dtype becomes float64, and an operator that refuses operands of two dtypes gets them in the wider one. A cast
to float32 (`x.float()`, `dtype=torch.float32`) names the dtype to compute in and does not ask for rounding, so it gives
float64. A cast to half precision or float8 stays, unless the values before float8 are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

FLOAT8 = tuple(getattr(torch, name) for name in dir(torch) if name.startswith("float8_"))
"""The dtypes of 8 bits that this PyTorch has."""


@contextmanager
def computed_in(dtype: torch.dtype | None, before_float8: bool = False) -> Iterator[None]:
    """Inside, new tensors have `dtype`, and mixed operands are widened. None: PyTorch's own rules apply. before_float8:
    whether casts to float8 are left out."""
    if dtype is None:
        yield
        return
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with _Widening(dtype, before_float8):
            yield
    finally:
        torch.set_default_dtype(before)


class _Widening(TorchFunctionMode):
    """Turns requests for float32 into requests for `dtype` if that is float64. Calls an operator again, in one dtype,
    if it refuses floating-point operands of several dtypes."""

    def __init__(self, dtype: torch.dtype, before_float8: bool) -> None:
        super().__init__()
        self.dtype = dtype
        self.wider = dict.fromkeys((torch.float32, *(FLOAT8 if before_float8 else ())), dtype)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.dtype == torch.float64 and (asked := self._asked_wider(func, args, kwargs)) is not None:
            made = self._called(*asked)
            return made.clone() if _is_float(made) and args and made is args[0] else made  # a cast is a copy
        return self._called(func, args, kwargs)

    def _called(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except (RuntimeError, ValueError):
            found = {leaf.dtype for leaf in tree_leaves((args, kwargs)) if _is_float(leaf)}
            if len(found) < 2:
                raise
            wanted = args[0].dtype if _changes_its_first(func, args) else max(found, key=_precision)
            args, kwargs = tree_map(lambda leaf: leaf.to(wanted) if _is_float(leaf) else leaf, (args, kwargs))
            return func(*args, **kwargs)

    def _asked_wider(self, func: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any] | None:
        """The call with `dtype` in place of float32; None if it does not ask for float32. A view that reads bits gets
        the bits of float32."""
        if func is Tensor.float:
            return Tensor.to, (args[0], self.dtype), kwargs
        dtypes = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.dtype)]
        if func is Tensor.view and dtypes and args[0].dtype == self.dtype:
            return func, (args[0].float(), *args[1:]), kwargs
        if self.wider.keys().isdisjoint(dtypes) or func is Tensor.view:
            return None
        args = tuple(self.wider.get(value, value) if isinstance(value, torch.dtype) else value for value in args)
        named = {name: self.wider.get(v, v) if isinstance(v, torch.dtype) else v for name, v in kwargs.items()}
        return func, args, named


def _is_float(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _precision(dtype: torch.dtype) -> tuple[float, int]:
    return -torch.finfo(dtype).eps, dtype.itemsize


def _changes_its_first(func: Any, args: Any) -> bool:
    """Whether an operator writes to its first argument, which then keeps its dtype."""
    name = getattr(func, "__name__", "")
    is_in_place = (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"
    return is_in_place and bool(args) and _is_float(args[0])
