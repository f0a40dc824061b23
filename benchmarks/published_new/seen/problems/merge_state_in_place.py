"""A result of attention with that over other keys merged into it, where a mask of tokens says so."""

import torch
import torch.nn as nn

tokens = 1024
heads = 16
width = 128

CASES = [
    dict(name="full", tokens=1024, heads=16, width=128, dtype="float32"),
    dict(name="odd", tokens=101, heads=3, width=80, dtype="float32", held_out=True),
    dict(name="small", small=True, tokens=3, heads=2, width=8, dtype="float32"),
]

MUTATES = ("v", "s")


class Model(nn.Module):
    def forward(self, v, s, v_other, s_other, mask):
        top = torch.maximum(s, s_other)
        a, b = torch.exp2(s - top), torch.exp2(s_other - top)
        merged = (v * a[..., None] + v_other * b[..., None]) / (a + b)[..., None]
        total = torch.log2(a + b) + top
        v.copy_(torch.where(mask[:, None, None] != 0, merged, v))
        s.copy_(torch.where(mask[:, None] != 0, total, s))


def get_inputs():
    return [
        torch.randn(tokens, heads, width),
        torch.randn(tokens, heads),
        torch.randn(tokens, heads, width),
        torch.randn(tokens, heads),
        (torch.arange(tokens) % 3 > 0).int(),
    ]


def get_init_inputs():
    return []
