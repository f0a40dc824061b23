"""Half of the distance of two distributions, element by element."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, p, q):
        return 0.5 * (p - q).abs()


def get_inputs():
    return [torch.randn(rows, cols).softmax(-1), torch.randn(rows, cols).softmax(-1)]


def get_init_inputs():
    return []
