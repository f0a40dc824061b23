"""Rows times a transposed matrix of four bits in GPTQ order, each of whose rows has a group of scales."""

import torch
import torch.nn as nn

m = 16
k = 4096
n = 4096

CASES = [
    dict(name="full", m=16, k=4096, n=4096, dtype="float16"),
    dict(name="prefill", m=512, k=1024, n=2048, dtype="float16"),
    dict(name="odd", m=33, k=256, n=512, dtype="float16", held_out=True),
    dict(name="small", small=True, m=5, k=256, n=256, dtype="float16"),
]


def unpack(packed, bits, dim):
    """Fields of `bits` bits of whole numbers, the lowest first, along a dimension."""
    shifts = torch.arange(0, 32, bits, device=packed.device, dtype=torch.int32)
    fields = (packed.unsqueeze(dim + 1) >> shifts.view([-1 if i == dim + 1 else 1 for i in range(3)])) & (2**bits - 1)
    return fields.flatten(dim, dim + 1)


class Model(nn.Module):
    def forward(self, x, qweight, scales, qzeros, group):
        weight = (unpack(qweight, 4, 0) - (unpack(qzeros, 4, 1))[group]) * scales[group]
        return x @ weight.t()


def get_inputs():
    return [
        torch.randn(m, n),
        torch.randint(-(2**31), 2**31 - 1, (k // 8, n), dtype=torch.int32),
        torch.rand(k // 64, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (k // 64, n // 8), dtype=torch.int32),
        torch.randint(0, k // 64, (k,), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
