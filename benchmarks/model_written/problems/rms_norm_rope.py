"""An RMS norm of a sum, followed by a rotary embedding of its halves."""

import torch
import torch.nn as nn

rows = 32768
columns = 128

CASES = [
    dict(name="large", dtype="float16", rows=32768, columns=128),
    dict(name="odd", dtype="bfloat16", held_out=True, rows=1000, columns=256),
    dict(name="small", dtype="float32", small=True, rows=8, columns=64),
]


class Model(nn.Module):
    def forward(self, x, residual, w, cos, sin):
        h = x.float() + residual.float()
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6) * w.float()
        first, second = h.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        return (h * cos.float() + turned * sin.float()).to(x.dtype)


def get_inputs():
    angles = torch.randn(rows, columns // 2).repeat(1, 2)
    x, residual = torch.randn(rows, columns), torch.randn(rows, columns)
    return [x, residual, torch.randn(columns), angles.cos(), angles.sin()]


def get_init_inputs():
    return []
