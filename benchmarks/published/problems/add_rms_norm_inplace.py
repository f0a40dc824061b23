"""Residual added in place, and its RMS norm over the input."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


MUTATES = (
    "x",
    "residual",
)


class Model(nn.Module):
    def forward(self, x, residual, weight):
        residual.add_(x)
        x.copy_(F.rms_norm(residual, (residual.shape[-1],), weight, 1e-5))


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(cols)]


def get_init_inputs():
    return []
