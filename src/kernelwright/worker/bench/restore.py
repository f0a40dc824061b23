"""Restoring of inputs that a call changes in place: untimed device work before each timed call."""

from __future__ import annotations

import torch
from torch import Tensor


class Restore:
    """Copies the original values of inputs into every rotating set. sets: for each set, the tensors that a call
    changes. pristine: their original values, which are cloned."""

    def __init__(self, pristine: list[Tensor], sets: list[list[Tensor]]) -> None:
        kept = [tensor.clone() for tensor in pristine]
        self.targets = [tensor for one in sets for tensor in one]
        self.sources = kept * len(sets)

    def __call__(self) -> None:
        torch._foreach_copy_(self.targets, self.sources)
