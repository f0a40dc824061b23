"""Weights scaled by blocks of 128 by 128, the result in bfloat16."""

import torch
import torch.nn as nn

m = 1000
n = 2048

CASES = [
    dict(name="full", m=1000, n=2048, dtype="float32"),
    dict(name="small", small=True, m=130, n=140, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, s):
        scale = s.repeat_interleave(128, 0)[: x.shape[0]].repeat_interleave(128, 1)[:, : x.shape[1]]
        return (x * scale).to(torch.bfloat16)


def get_inputs():
    return [torch.randn(m, n), torch.rand((m + 127) // 128, (n + 127) // 128) + 0.1]


def get_init_inputs():
    return []
