"""The sum of a long vector."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """x: (count,). Returns (1,)."""

    def forward(self, x):
        return x.sum(dim=0, keepdim=True)


CASES = [
    dict(name="16M_fp32", dtype="float32", count=2**24),
    dict(name="1000003_fp32", dtype="float32", held_out=True, count=1_000_003),
    dict(name="small_fp32", dtype="float32", small=True, count=9001),
]


def get_inputs(count=2**24):
    return [torch.randn(count)]


def get_init_inputs():
    return []
