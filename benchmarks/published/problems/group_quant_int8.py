"""Groups of 64 scaled to int8 by truncation, and the scales."""

import torch
import torch.nn as nn

rows = 1024
cols = 2048

CASES = [
    dict(name="full", rows=1024, cols=2048, dtype="float16"),
    dict(name="small", small=True, rows=3, cols=128, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        groups = x.float().unflatten(-1, (-1, 64))
        scale = groups.abs().amax(-1, keepdim=True).clamp(min=1e-10) / 127
        return (groups / scale).clamp(-128, 127).to(torch.int8).flatten(-2), scale.squeeze(-1)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
