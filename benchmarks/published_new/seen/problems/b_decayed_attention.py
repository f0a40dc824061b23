"""Causal linear attention that decays by each head's own slope, with gradients."""

import torch
import torch.nn as nn

batch = 2
heads = 8
length = 1024
width = 64

CASES = [
    dict(name="full", batch=2, heads=8, length=1024, width=64, dtype="float32"),
    dict(name="odd", held_out=True, batch=2, heads=3, length=130, width=64, dtype="float32"),
    dict(name="small", small=True, batch=1, heads=2, length=70, width=32, dtype="float32"),
]

PRECISION = "tf32"

GRADIENTS = True


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("slopes", torch.exp2(-torch.arange(1, heads + 1) * 8 / heads))

    def forward(self, q, k, v):
        at = torch.arange(q.shape[2], device=q.device)
        distance = (at[:, None] - at[None, :]).clamp(min=0)
        weight = torch.exp(-self.slopes[:, None, None] * distance) * (at[:, None] >= at[None, :])
        return (q @ k.transpose(-1, -2) * weight) @ v


def get_inputs():
    return [
        torch.randn(batch, heads, length, width),
        torch.randn(batch, heads, length, width),
        torch.randn(batch, heads, length, width),
    ]


def get_init_inputs():
    return []
