"""Recurrent layers of many steps as one call in a graph: PyTorch traces the operators of one step after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import length_hint
from typing import Any

import torch
from torch import Tensor
from torch.library import Library, register_fake
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map_only

from kernelwright.worker.plan.schemas import RECURRENT
from kernelwright.worker.reference.instance import Watching

_LIBRARY = Library("kernelwright", "FRAGMENT")


def _made(
    input: Tensor, hx: Any, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
    bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The states of the last layer, in the order of memory that PyTorch gives them, and the last states of each."""
    states = [hx] if isinstance(hx, Tensor) else hx
    steps, rows = (input.shape[side] for side in ((1, 0) if batch_first else (0, 1)))
    every = input.new_empty(steps, rows, states[0].shape[-1] * (2 if bidirectional else 1))
    return every.transpose(0, 1) if batch_first else every, *(one.new_empty(one.shape) for one in states)


for function, operator in RECURRENT.items():  # calls without an implementation, because graphs are only lowered
    _LIBRARY.define(str(operator._schema).removeprefix("aten::").replace(".input", ""))
    register_fake(f"kernelwright::{function.__name__}", _made, lib=_LIBRARY)

OPERATORS = {getattr(torch.ops.kernelwright, one.__name__).default: operator for one, operator in RECURRENT.items()}
"""The operators of ATen, by their calls in a graph."""


class InOne(TorchFunctionMode):
    """Makes a recurrent layer one call where it would call more than `most` operators, with those of the layers before.
    Layers whose gradients are traced stay as they are. hint: the value of a size at the captured size."""

    def __init__(self, hint: Callable[[Any], int], most: int) -> None:
        super().__init__()
        self._hint, self._left = hint, most

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in RECURRENT and len(args) == 9 and args[0].dim() == 3 and not torch.is_grad_enabled():  # not packed
            given = tree_map_only(Tensor, lambda one: torch.empty([*map(self._hint, one.shape)], device="meta"), args)
            calls = iter(range(self._left))
            try:
                with _disable_current_modes(), Watching(lambda *_: next(calls)):
                    func(*given)
            except StopIteration:
                dropout = args[5] if args[6] else 0.0  # only in training
                return getattr(torch.ops.kernelwright, func.__name__)(*args[:5], dropout, *args[6:])
            self._left = length_hint(calls)
        return func(*args, **(kwargs or {}))
