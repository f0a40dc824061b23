"""Describing a problem without making its tensors: on fake ones, or on real ones as long as they are small.

A constructor may ask for values of a small tensor that it makes itself (`[x.item() for x in torch.linspace(…)]`): those
are real beside fake tensors of any size. Where the problem looks at values of others, all have to be real and small.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from kernelwright.errors import ProblemError

MOST_REAL_ELEMENTS = 1 << 24
"""Of the largest tensor that is made for real: 64 MiB in float32."""

MOST_COUNTED = 1 << 16
"""Elements of the largest tensor that is real beside fake ones."""

COUNTED = frozenset({torch.arange, torch.linspace, torch.logspace, torch.tensor})
"""Functions whose values follow from their arguments alone."""


class TooLargeError(ProblemError):
    """Its text is the number of elements."""


@contextlib.contextmanager
def faked() -> Iterator[None]:
    """Every tensor is fake, but for small ones whose values follow from plain numbers."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, _CountedForReal(mode):
        yield


class _CountedForReal(TorchFunctionMode):
    """Makes what COUNTED gives, and what follows from it alone, outside of the mode of fake tensors. How large it is
    fake copies say first: an operator that changes a tensor in place must run once."""

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if any(isinstance(tensor, FakeTensor) for tensor in tensors) or not (tensors or func in COUNTED):
            return func(*args, **kwargs)
        with contextlib.suppress(DataDependentOutputException, DynamicOutputShapeException):  # it looks at values
            copies, named = tree_map(lambda leaf: self.mode.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf,
                                     (args, kwargs))  # fmt: skip
            fake = func(*copies, **named)
            if any(isinstance(leaf, Tensor) and leaf.numel() > MOST_COUNTED for leaf in tree_leaves(fake)):
                return fake
        with unset_fake_temporarily():
            return func(*args, **kwargs)


class OnlySmallTensors(TorchDispatchMode):
    """Refuses tensors above MOST_REAL_ELEMENTS, before they take memory where their size is an argument."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for argument in args:
            if isinstance(argument, list | tuple) and all(type(size) is int for size in argument):
                self._check(math.prod(argument))
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            self._check(made.numel())
        return made

    def _check(self, elements: int) -> None:
        if elements > MOST_REAL_ELEMENTS:
            raise TooLargeError(str(elements))
