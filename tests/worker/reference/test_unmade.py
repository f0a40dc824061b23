"""Modules of fake tensors are initialised without their values."""

from __future__ import annotations

import pytest
import torch

from kernelwright.worker.reference.unmade import faked

DRAWN = [
    lambda w: torch.nn.init.trunc_normal_(w, std=0.02),
    lambda w: torch.nn.init.trunc_normal_(w, std=2.0, a=-0.1, b=0.1),
    torch.nn.init.xavier_uniform_, torch.nn.init.zeros_,
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(DRAWN)))
def test_an_initialiser_leaves_a_fake_tensor_as_it_is_and_draws_real_ones_again_afterwards(place: int) -> None:
    draw = DRAWN[place]
    with faked():
        large = torch.nn.Linear(1 << 14, 1 << 14)
        assert draw(large.weight) is large.weight
    small = draw(torch.full((64, 64), 9.0))
    assert small.abs().max() < 9.0
