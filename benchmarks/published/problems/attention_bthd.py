"""Causal attention with heads behind tokens."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 2
length = 1024
heads = 8
width = 64

PRECISION = "tf32"  # float32 products of tl.dot, by Triton's default

CASES = [
    dict(name="full", batch=2, length=1024, heads=8, width=64, dtype="float16"),
    dict(name="small", small=True, batch=1, length=40, heads=2, width=16, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, q, k, v):
        o = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return o.transpose(1, 2)


def get_inputs():
    return [
        torch.randn(batch, length, heads, width),
        torch.randn(batch, length, heads, width),
        torch.randn(batch, length, heads, width),
    ]


def get_init_inputs():
    return []
