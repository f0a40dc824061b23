"""Backward of layer norm over the last dimension: gradients of x, weight and bias, given x, weight and dy.

Any finite values, also constant rows (variance zero) and rows with a mean far larger than their spread."""

import torch
import torch.nn as nn


EPS = 1e-5


class Model(nn.Module):
    def forward(self, x, weight, dy):
        mean = x.mean(-1, keepdim=True)
        centred = x - mean
        rstd = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + EPS)
        hat = centred * rstd
        g = dy * weight
        dx = rstd * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
        return dx, (dy * hat).sum(0), dy.sum(0)


CASES = [
    dict(name="large", dtype="float32", rows=16384, cols=2048),
    dict(name="odd", dtype="float32", held_out=True, rows=1013, cols=777),
    dict(name="small", dtype="float32", small=True, rows=37, cols=50),
    dict(name="wide", dtype="float32", small=True, rows=6, cols=260),
]


def get_inputs(rows=16384, cols=2048):
    return [torch.randn(rows, cols) * 2 + 0.5, torch.randn(cols), torch.randn(rows, cols)]


def get_init_inputs():
    return []
