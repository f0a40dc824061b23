"""Causal attention."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
heads = 8
length = 1024
width = 64

CASES = [
    dict(name="full", batch=2, heads=8, length=1024, width=64, dtype="float16"),
    dict(name="small", small=True, batch=1, heads=2, length=32, width=16, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def get_inputs():
    return [
        torch.randn(batch, heads, length, width),
        torch.randn(batch, heads, length, width),
        torch.randn(batch, heads, length, width),
    ]


def get_init_inputs():
    return []
