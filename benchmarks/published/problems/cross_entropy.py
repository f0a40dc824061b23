"""Cross-entropy of each row in float32, without a reduction."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float16"),
    dict(name="full1", rows=1003, cols=2049, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, target):
        return F.cross_entropy(x.float(), target, reduction="none")


def get_inputs():
    return [torch.randn(rows, cols), torch.randint(0, cols, (rows,))]


def get_init_inputs():
    return []
