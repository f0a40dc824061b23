"""The terms of a Kullback-Leibler divergence of probabilities from log-probabilities."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, y):
        return F.kl_div(x, y, reduction="none")


def get_inputs():
    return [torch.randn(rows, cols).log_softmax(-1), torch.randn(rows, cols).softmax(-1)]


def get_init_inputs():
    return []
