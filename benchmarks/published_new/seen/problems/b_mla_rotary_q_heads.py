"""Rotary embedding of the last part of queries, of numbers of heads that are no powers of two, in place."""

import torch
import torch.nn as nn

length = 1024
batch = 2
heads = 12
plain = 128
rotary = 64

CASES = [
    dict(name="full", length=1024, batch=2, heads=12, plain=128, rotary=64, dtype="float16"),
    dict(name="odd", held_out=True, length=33, batch=3, heads=6, plain=64, rotary=32, dtype="float32"),
    dict(name="small", small=True, length=5, batch=2, heads=3, plain=16, rotary=8, dtype="float32"),
]

MUTATES = ("q",)


def rotate_pairs(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return torch.cat([a * cos[..., :half] - b * sin[..., :half], b * cos[..., half:] + a * sin[..., half:]], -1)


class Model(nn.Module):
    def forward(self, q, cos, sin, plain):
        q[..., plain:] = rotate_pairs(q[..., plain:], cos[:, None, None], sin[:, None, None])


def get_inputs():
    return [
        torch.randn(length, batch, heads, plain + rotary),
        torch.randn(length, rotary),
        torch.randn(length, rotary),
        plain,
    ]


def get_init_inputs():
    return []
