"""Product of float8 matrices, scaled by groups of 128 along the sum and by blocks of 128 of the weight. Scales are
whole numbers, not zero."""

import torch
import torch.nn as nn

m = 512
n = 1024
k = 1024

CASES = [
    dict(name="full", m=512, n=1024, k=1024),
    dict(name="odd", m=133, n=384, k=256, held_out=True),
    dict(name="small", small=True, m=5, n=128, k=256),
]


class Model(nn.Module):
    def forward(self, a, scale_a, b, scale_b):
        left = a.float() * scale_a.repeat_interleave(128, 1)
        right = b.float() * scale_b.repeat_interleave(128, 0).repeat_interleave(128, 1).t()
        return left @ right.t()


def get_inputs():
    return [
        torch.randn(m, k).to(torch.float8_e4m3fn),
        torch.randint(1, 5, (m, k // 128)).float(),
        torch.randn(n, k).to(torch.float8_e4m3fn),
        torch.randint(1, 5, (k // 128, n // 128)).float(),
    ]


def get_init_inputs():
    return []
