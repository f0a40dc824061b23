"""RMS norm of a sum of two, and the sum, with gradients."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=200, dtype="float32"),
]

GRADIENTS = True


class Model(nn.Module):
    def forward(self, x, residual, weight):
        total = x + residual
        return F.rms_norm(total, (x.shape[-1],), weight, 1e-6), total


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(cols)]


def get_init_inputs():
    return []
