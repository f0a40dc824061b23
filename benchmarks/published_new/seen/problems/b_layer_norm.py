"""Layer norm with weight and bias."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        return F.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5)


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(cols), torch.randn(cols)]


def get_init_inputs():
    return []
