"""Putting back what calls have changed."""

from __future__ import annotations

import torch

from kernelwright.worker.bench.restore import Restore


def test_every_set_gets_the_first_values_again_whatever_becomes_of_them() -> None:
    first = [torch.arange(4.0), torch.ones(2)]
    sets = [[tensor.clone() for tensor in first] for _ in range(3)]
    restore = Restore(first, sets)
    for tensor in (*first, *(one for group in sets for one in group)):
        tensor.add_(7)
    restore()
    for group in sets:
        assert torch.equal(group[0], torch.arange(4.0))
        assert torch.equal(group[1], torch.ones(2))
