"""Results of attention over several parts of the keys as one, by their logarithmic sums (base two)."""

import torch
import torch.nn as nn

tokens = 1024
parts = 4
heads = 16
width = 128

CASES = [
    dict(name="full", tokens=1024, parts=4, heads=16, width=128, dtype="float32"),
    dict(name="odd", tokens=101, parts=3, heads=3, width=80, dtype="float32", held_out=True),
    dict(name="small", small=True, tokens=3, parts=3, heads=2, width=8, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, v, s):
        top = s.amax(1, keepdim=True)
        weight = torch.exp2(s - top)
        total = weight.sum(1)
        return (v * weight[..., None]).sum(1) / total[..., None], torch.log2(total) + top[:, 0]


def get_inputs():
    return [torch.randn(tokens, parts, heads, width), torch.randn(tokens, parts, heads)]


def get_init_inputs():
    return []
