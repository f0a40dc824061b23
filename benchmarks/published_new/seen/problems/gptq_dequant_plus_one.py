"""A matrix of four bits in GPTQ order as numbers, each of whose rows has a group of scales, zero points stored less
one."""

import torch
import torch.nn as nn

k = 4096
n = 4096

CASES = [
    dict(name="full", k=4096, n=4096, dtype="float16"),
    dict(name="odd", k=192, n=160, dtype="float16", held_out=True),
    dict(name="small", small=True, k=64, n=64, dtype="float16"),
]


def unpack(packed, bits, dim):
    """Fields of `bits` bits of whole numbers, the lowest first, along a dimension."""
    shifts = torch.arange(0, 32, bits, device=packed.device, dtype=torch.int32)
    fields = (packed.unsqueeze(dim + 1) >> shifts.view([-1 if i == dim + 1 else 1 for i in range(3)])) & (2**bits - 1)
    return fields.flatten(dim, dim + 1)


class Model(nn.Module):
    def forward(self, qweight, scales, qzeros, group):
        weight = (unpack(qweight, 4, 0) - (unpack(qzeros, 4, 1) + 1)[group]) * scales[group]
        return weight


def get_inputs():
    return [
        torch.randint(-(2**31), 2**31 - 1, (k // 8, n), dtype=torch.int32),
        torch.rand(k // 64, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (k // 64, n // 8), dtype=torch.int32),
        torch.randint(0, k // 64, (k,), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
