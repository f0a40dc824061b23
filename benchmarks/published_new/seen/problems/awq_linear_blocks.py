"""Rows times a matrix of four bits in the order of AWQ, scaled by groups of 128 rows."""

import torch
import torch.nn as nn

m = 16
k = 4096
n = 4096

CASES = [
    dict(name="full", m=16, k=4096, n=4096, dtype="float16"),
    dict(name="odd", m=33, k=256, n=384, dtype="float16", held_out=True),
    dict(name="small", small=True, m=5, k=256, n=128, dtype="float16"),
]


def unpack(packed):
    """Fields of four bits in the order of AWQ."""
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device=packed.device, dtype=torch.int32) * 4
    return ((packed[..., None] >> order) & 15).flatten(-2)


class Model(nn.Module):
    def forward(self, x, qweight, scales, zeros):
        weight = unpack(qweight) - unpack(zeros).repeat_interleave(128, 0)
        return x @ (weight * scales.repeat_interleave(128, 0))


def get_inputs():
    return [
        torch.randn(m, k),
        torch.randint(-(2**31), 2**31 - 1, (k, n // 8), dtype=torch.int32),
        torch.rand(k // 128, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (k // 128, n // 8), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
