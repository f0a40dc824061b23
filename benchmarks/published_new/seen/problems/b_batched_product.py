"""Products of two batches of matrices."""

import torch
import torch.nn as nn

batch = 8
rows = 512
inner = 256
cols = 512

CASES = [
    dict(name="full", batch=8, rows=512, inner=256, cols=512, dtype="float32"),
    dict(name="odd", held_out=True, batch=3, rows=65, inner=64, cols=40, dtype="float32"),
    dict(name="small", small=True, batch=2, rows=33, inner=32, cols=17, dtype="float32"),
]

PRECISION = "tf32"


class Model(nn.Module):
    def forward(self, x, y):
        return x @ y


def get_inputs():
    return [torch.randn(batch, rows, inner), torch.randn(batch, inner, cols)]


def get_init_inputs():
    return []
