"""Mean squared error."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 32
cols = 200

CASES = [
    dict(name="full", rows=32, cols=200, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, target):
        return F.mse_loss(x, target)


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs():
    return []
