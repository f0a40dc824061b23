"""Blocks of 128 values scaled to the range of float8, and the scales."""

import torch
import torch.nn as nn

rows = 1024
cols = 2048

CASES = [
    dict(name="full", rows=1024, cols=2048, dtype="bfloat16"),
    dict(name="small", small=True, rows=3, cols=256, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        blocks = x.float().unflatten(-1, (-1, 128))
        scale = blocks.abs().amax(dim=-1, keepdim=True).clamp(min=1e-4) / 448.0
        return (blocks / scale).flatten(-2).to(torch.float8_e4m3fn), scale.squeeze(-1)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
