"""The cross entropy of each row, in the dtype of the logits."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 8192
columns = 4096

CASES = [
    dict(name="large", dtype="float16", rows=8192, columns=4096),
    dict(name="odd", dtype="bfloat16", held_out=True, rows=1000, columns=4097),
    dict(name="small", dtype="float32", small=True, rows=8, columns=128),
    dict(name="small_wide", dtype="float16", small=True, rows=3, columns=8192),
]


class Model(nn.Module):
    def forward(self, x, tgt):
        return F.cross_entropy(x.float(), tgt, reduction="none").to(x.dtype)


def get_inputs():
    return [torch.randn(rows, columns), torch.randint(0, columns, (rows,))]


def get_init_inputs():
    return []
