"""Product of two matrices of int8 with scales of blocks of 128 (rows of the first by themselves)."""

import torch
import torch.nn as nn

m = 512
k = 1024
n = 1024

CASES = [
    dict(name="full", m=512, k=1024, n=1024, dtype="float32"),
    dict(name="odd", held_out=True, m=256, k=384, n=128, dtype="float32"),
    dict(name="small", small=True, m=128, k=256, n=128, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, a, b, scale_a, scale_b):
        left = a.to(scale_a.dtype) * scale_a.repeat_interleave(128, 1)
        right = b.to(scale_b.dtype) * scale_b.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return left @ right


def get_inputs():
    return [
        torch.randint(-128, 128, (m, k), dtype=torch.int8),
        torch.randint(-128, 128, (k, n), dtype=torch.int8),
        torch.rand(m, k // 128),
        torch.rand(k // 128, n // 128),
    ]


def get_init_inputs():
    return []
