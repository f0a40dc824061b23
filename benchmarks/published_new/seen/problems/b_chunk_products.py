"""Products of the rows of two matrices within chunks of 32 steps, for each group."""

import torch
import torch.nn as nn

length = 4096
groups = 4
width = 128

CASES = [
    dict(name="full", length=4096, groups=4, width=128, dtype="float16"),
    dict(name="odd", held_out=True, length=160, groups=3, width=48, dtype="float32"),
    dict(name="small", small=True, length=64, groups=2, width=16, dtype="float32"),
]

PRECISION = "tf32"


class Model(nn.Module):
    def forward(self, a, b, starts):
        parts = [t.unflatten(0, (-1, 32)).transpose(1, 2) for t in (a, b)]
        return parts[0] @ parts[1].transpose(-1, -2)


def get_inputs():
    return [
        torch.randn(length, groups, width),
        torch.randn(length, groups, width),
        torch.arange(0, length + 1, 32, dtype=torch.int32),
    ]


def get_init_inputs():
    return []
