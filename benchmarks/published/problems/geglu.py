"""GELU of the gate times the other half."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
length = 512
width = 2048

CASES = [
    dict(name="full", batch=4, length=512, width=2048, dtype="float16"),
    dict(name="small", small=True, batch=2, length=3, width=70, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, e, g):
        return F.gelu(e) * g


def get_inputs():
    return [torch.randn(batch, length, width), torch.randn(batch, length, width)]


def get_init_inputs():
    return []
