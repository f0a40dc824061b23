"""Backward of SwiGLU in place: the product, and both gradients, over the three inputs."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


MUTATES = (
    "dw",
    "e",
    "g",
)


class Model(nn.Module):
    def forward(self, dw, e, g):
        gate = torch.sigmoid(e)
        f = gate * e
        h, df, dg = f * g, dw * f, dw * g
        de = dg * gate * (1 + e * (1 - gate))
        dw.copy_(h)
        e.copy_(df)
        g.copy_(de)


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs():
    return []
