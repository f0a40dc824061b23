"""RMS norm in half precision."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float16"),
    dict(name="odd", held_out=True, rows=33, cols=200, dtype="float16"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, weight):
        return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(cols)]


def get_init_inputs():
    return []
