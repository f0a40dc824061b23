"""Step sizes with a bias, not below zero, in chunks of 64, and the sums of steps times A in each chunk."""

import torch
import torch.nn as nn

batch = 4
chunks = 16
heads = 24

CASES = [
    dict(name="full", batch=4, chunks=16, heads=24, dtype="float32"),
    dict(name="odd", batch=3, chunks=5, heads=7, dtype="float32", held_out=True),
    dict(name="small", small=True, batch=1, chunks=2, heads=3, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, dt, a, bias):
        step = (dt + bias).clamp(min=0).unflatten(1, (-1, 64)).permute(0, 3, 1, 2)
        return torch.cumsum(step * a[:, None, None], -1), step


def get_inputs():
    return [torch.randn(batch, 64 * chunks, heads), torch.randn(heads), torch.randn(heads)]


def get_init_inputs():
    return []
