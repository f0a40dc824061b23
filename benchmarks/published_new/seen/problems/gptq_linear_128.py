"""Rows times a matrix of four bits in GPTQ order in groups of 128 rows, zero points stored less one."""

import torch
import torch.nn as nn

m = 16
k = 4096
n = 4096

CASES = [
    dict(name="full", m=16, k=4096, n=4096, dtype="float16"),
    dict(name="odd", m=5, k=1024, n=256, dtype="float16", held_out=True),
    dict(name="small", small=True, m=3, k=512, n=64, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, qweight, scales, qzeros):
        shifts = torch.arange(0, 32, 4, device=x.device, dtype=torch.int32)
        weight = ((qweight[:, None] >> shifts[:, None]) & 15).flatten(0, 1)
        zeros = ((qzeros[..., None] >> shifts) & 15).flatten(1, 2) + 1
        zeros, scale = zeros.repeat_interleave(128, 0), scales.repeat_interleave(128, 0)
        return x @ ((weight - zeros) * scale)


def get_inputs():
    return [
        torch.randn(m, k),
        torch.randint(-(2**31), 2**31 - 1, (k // 8, n), dtype=torch.int32),
        torch.rand(k // 128, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (k // 128, n // 8), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
