"""Weights of four bits in AWQ order, scaled by groups of 32 rows."""

import torch
import torch.nn as nn

k = 1024
n = 1024

CASES = [
    dict(name="full", k=1024, n=1024, dtype="float16"),
    dict(name="small", small=True, k=64, n=64, dtype="float16"),
]


def bits(packed, order):
    return ((packed[..., None] >> order) & 15).flatten(-2)


class Model(nn.Module):
    def forward(self, qweight, scales, zeros):
        order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device=qweight.device) * 4
        group = qweight.shape[0] // scales.shape[0]
        scale, zero = scales.repeat_interleave(group, 0), bits(zeros, order).repeat_interleave(group, 0)
        return (bits(qweight, order) - zero) * scale


def get_inputs():
    return [
        torch.randint(-(2**31), 2**31 - 1, (k, n // 8), dtype=torch.int32),
        torch.rand(k // 32, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (k // 32, n // 8), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
