"""Attention over all keys."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
heads = 16
length = 1024
width = 64

CASES = [
    dict(name="full", batch=4, heads=16, length=1024, width=64, dtype="float16"),
    dict(name="odd", batch=1, heads=3, length=333, width=128, dtype="float16", held_out=True),
    dict(name="small", small=True, batch=1, heads=2, length=20, width=32, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, scale=0.125)


def get_inputs():
    return [torch.randn(batch, heads, length, width) for _ in range(3)]


def get_init_inputs():
    return []
