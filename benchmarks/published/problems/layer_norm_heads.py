"""Layer norm of each head without a bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 1024
heads = 8
width = 128

CASES = [
    dict(name="full", tokens=1024, heads=8, width=128, dtype="float16"),
    dict(name="small", small=True, tokens=5, heads=2, width=40, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight):
        return F.layer_norm(x, (x.shape[-1],), None, None, 1e-5) * weight


def get_inputs():
    return [torch.randn(tokens, heads, width), torch.randn(heads, width)]


def get_init_inputs():
    return []
