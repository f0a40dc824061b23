"""Modes that describe a problem without the memory of its tensors: fake tensors, or real tensors with a size limit.

A constructor may read values of a small tensor that it creates itself (`[x.item() for x in torch.linspace(…)]`). Such
tensors are real, beside fake tensors of any size. If the problem reads other values, all tensors have to be real and
small.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import SymInt, Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from kernelwright.errors import ProblemError
from kernelwright.worker.reference.instance import Instance

MOST_REAL_ELEMENTS = 1 << 24
"""Elements of the largest real tensor under `OnlySmallTensors`: 64 MiB in float32."""

MOST_ON_CPU = 1 << 27
"""The same for a large case that only its values describe, on a machine without a GPU: 512 MiB in float32."""

MOST_COUNTED = 1 << 16
"""Elements of the largest real tensor beside fake ones."""

COUNTED = frozenset({torch.arange, torch.linspace, torch.logspace, torch.tensor})
"""Functions whose results depend on their arguments only."""


class TooLargeError(ProblemError):
    """A real tensor would be too large. The text of the error is its number of elements."""


@contextlib.contextmanager
def faked(symbols: ShapeEnv | None = None) -> Iterator[FakeTensorMode]:
    """Inside, every tensor is fake, except small ones computed from plain numbers only. symbols: of sizes. Yields the
    fake mode."""
    with (
        FakeTensorMode(allow_non_fake_inputs=True, shape_env=symbols, static_shapes=True) as mode,
        _CountedForReal(mode),
        casting(),
        _without_draws(),
    ):
        yield mode


@contextlib.contextmanager
def _without_draws() -> Iterator[None]:
    """Inside, initialisers leave fake tensors as they are, as they do with those of the meta device: some draw again
    until all values are within limits (`trunc_normal_`, torch 2.13)."""
    own = {name: draw for name, draw in vars(torch.nn.init).items() if name.startswith("_no_grad_")}
    for name, draw in own.items():
        setattr(torch.nn.init, name, _leaving_fake(draw))
    try:
        yield
    finally:
        for name, draw in own.items():
            setattr(torch.nn.init, name, draw)


def _leaving_fake(draw: Callable[..., Any]) -> Callable[..., Any]:
    def drawn(tensor: Any, *args: Any, **named: Any) -> Any:
        return tensor if isinstance(tensor, FakeTensor) else draw(tensor, *args, **named)

    return drawn


@contextlib.contextmanager
def casting() -> Iterator[None]:
    """Inside, a module of fake tensors can be cast (`.half()`). It swaps its parameters for others, which torch refuses
    where a weak reference to one exists, and the fake mode keeps some."""
    own = torch.utils.swap_tensors
    torch.utils.swap_tensors = _set
    try:
        yield
    finally:
        torch.utils.swap_tensors = own


def _set(one: Tensor, other: Tensor) -> None:
    one.data = other.data


def is_fake(instance: Instance) -> bool:
    """Whether an instance was made inside `faked`."""
    return any(isinstance(one, FakeTensor) for one in (*instance.inputs, *instance.module.parameters()))


class _CountedForReal(TorchFunctionMode):
    """Computes functions of COUNTED, and operators on their results only, with real values outside the fake mode.

    Fake copies give the size first, because an operator that changes a tensor in place must not run twice on it.
    """

    def __init__(self, mode: FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves = tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if any(isinstance(one, FakeTensor | SymInt) for one in leaves) or not (tensors or func in COUNTED):
            return func(*args, **kwargs)
        with contextlib.suppress(RuntimeError):  # it reads values
            with _disable_current_modes(), self.mode:  # a recorder sees each call once, whatever its size
                copies, named = tree_map(lambda leaf: self.mode.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf,
                                         (args, kwargs))  # fmt: skip
                fake = func(*copies, **named)
            if any(isinstance(leaf, Tensor) and leaf.numel() > MOST_COUNTED for leaf in tree_leaves(fake)):
                return func(*args, **kwargs)
        with unset_fake_temporarily():
            return func(*args, **kwargs)


class OnlySmallTensors(TorchDispatchMode):
    """Raises `TooLargeError` for tensors with more elements than `most`, before they take memory if an argument states
    the size."""

    def __init__(self, most: int | None = None) -> None:
        """most: None for MOST_REAL_ELEMENTS."""
        super().__init__()
        self.most = MOST_REAL_ELEMENTS if most is None else most

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for argument in args:
            if isinstance(argument, list | tuple) and all(type(size) is int for size in argument):
                self._check(math.prod(argument))
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            self._check(made.numel())
        return made

    def _check(self, elements: int) -> None:
        if elements > self.most:
            raise TooLargeError(str(elements))
