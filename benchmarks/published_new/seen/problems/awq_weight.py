"""A matrix of four bits in the order of AWQ as numbers, scaled by groups of 64 rows."""

import torch
import torch.nn as nn

k = 4096
n = 4096

CASES = [
    dict(name="full", k=4096, n=4096, dtype="float16"),
    dict(name="odd", k=192, n=264, dtype="float16", held_out=True),
    dict(name="small", small=True, k=64, n=64, dtype="float16"),
]


def unpack(packed):
    """Fields of four bits in the order of AWQ."""
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7], device=packed.device, dtype=torch.int32) * 4
    return ((packed[..., None] >> order) & 15).flatten(-2)


class Model(nn.Module):
    def forward(self, qweight, scales, zeros):
        weight = unpack(qweight) - unpack(zeros).repeat_interleave(64, 0)
        return weight * scales.repeat_interleave(64, 0)


def get_inputs():
    return [
        torch.randint(-(2**31), 2**31 - 1, (k, n // 8), dtype=torch.int32),
        torch.rand(k // 64, n) + 0.1,
        torch.randint(-(2**31), 2**31 - 1, (k // 64, n // 8), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
