"""Attention to the last 64 tokens and the first 16."""

import torch
import torch.nn as nn

batch = 1
heads = 8
length = 1024
width = 64

CASES = [
    dict(name="full", batch=1, heads=8, length=1024, width=64, dtype="float16"),
    dict(name="odd", held_out=True, batch=1, heads=2, length=200, width=128, dtype="float16"),
    dict(name="small", small=True, batch=1, heads=1, length=100, width=16, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, q, k, v):
        at = torch.arange(q.shape[2], device=q.device)
        distance = at[:, None] - at
        seen = (distance >= 0) & ((distance < 64) | (at < 16))
        scores = (q @ k.transpose(2, 3)) * q.shape[-1] ** -0.5
        return torch.softmax(scores.masked_fill(~seen, -float("inf")), -1) @ v


def get_inputs():
    return [torch.randn(batch, heads, length, width) for _ in range(3)]


def get_init_inputs():
    return []
