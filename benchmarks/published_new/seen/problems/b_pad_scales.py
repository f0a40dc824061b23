"""A matrix padded with zeros to multiples of 128 rows and 4 columns."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4000
cols = 1001

CASES = [
    dict(name="full", rows=4000, cols=1001, dtype="float32"),
    dict(name="odd", held_out=True, rows=129, cols=130, dtype="float32"),
    dict(name="small", small=True, rows=37, cols=5, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        return F.pad(x, (0, -x.shape[1] % 4, 0, -x.shape[0] % 128))


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
