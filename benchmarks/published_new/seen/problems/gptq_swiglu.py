"""SiLU of one product times another, both with matrices of four bits in GPTQ order, zero points stored less one."""

import torch
import torch.nn as nn
import torch.nn.functional as F

m = 16
k = 4096
n = 4096

CASES = [
    dict(name="full", m=16, k=4096, n=4096, dtype="float16"),
    dict(name="odd", m=33, k=256, n=512, dtype="float16", held_out=True),
    dict(name="small", small=True, m=5, k=256, n=256, dtype="float16"),
]


def unpack(packed, bits, dim):
    """Fields of `bits` bits of whole numbers, the lowest first, along a dimension."""
    shifts = torch.arange(0, 32, bits, device=packed.device, dtype=torch.int32)
    fields = (packed.unsqueeze(dim + 1) >> shifts.view([-1 if i == dim + 1 else 1 for i in range(3)])) & (2**bits - 1)
    return fields.flatten(dim, dim + 1)


class Model(nn.Module):
    def forward(self, x, qweight1, scales1, qzeros1, group1, qweight2, scales2, qzeros2, group2):
        weight1 = (unpack(qweight1, 4, 0) - (unpack(qzeros1, 4, 1) + 1)[group1]) * scales1[group1]
        weight2 = (unpack(qweight2, 4, 0) - (unpack(qzeros2, 4, 1) + 1)[group2]) * scales2[group2]
        return F.silu(x @ weight1) * (x @ weight2)


def get_inputs():
    layers = []
    for _ in range(2):
        layers.append(torch.randint(-(2**31), 2**31 - 1, (k // 8, n), dtype=torch.int32))
        layers.append(torch.rand(k // 64, n) * 0.01 + 0.001)
        layers.append(torch.randint(-(2**31), 2**31 - 1, (k // 64, n // 8), dtype=torch.int32))
        layers.append(torch.randint(0, k // 64, (k,), dtype=torch.int32))
    return [torch.randn(m, k), *layers]


def get_init_inputs():
    return []
