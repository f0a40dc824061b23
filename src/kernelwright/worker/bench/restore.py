"""Puts inputs back that a call changes in place, before each call that is timed and outside of what is timed."""

from __future__ import annotations

import torch
from torch import Tensor


class Restore:
    """Copies what the inputs held at first into every rotating set. sets: for each of them the tensors that a call
    changes; pristine: their first values, kept as copies."""

    def __init__(self, pristine: list[Tensor], sets: list[list[Tensor]]) -> None:
        kept = [tensor.clone() for tensor in pristine]
        self.targets = [tensor for one in sets for tensor in one]
        self.sources = kept * len(sets)

    def __call__(self) -> None:
        torch._foreach_copy_(self.targets, self.sources)
