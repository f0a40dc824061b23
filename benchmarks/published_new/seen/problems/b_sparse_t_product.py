"""Transpose of a matrix with a few entries in each row times a dense one."""

import torch
import torch.nn as nn

rows = 4096
kept = 32
features = 16384
width = 512

CASES = [
    dict(name="full", rows=4096, kept=32, features=16384, width=512, dtype="float32"),
    dict(name="odd", held_out=True, rows=33, kept=7, features=200, width=64, dtype="float32"),
    dict(name="small", small=True, rows=9, kept=5, features=40, width=32, dtype="float32"),
]

LIBRARY = "any"


class Model(nn.Module):
    def forward(self, index, value, dense, features):
        rows = torch.arange(index.shape[0], device=index.device).repeat_interleave(index.shape[1])
        return dense.new_zeros(features, dense.shape[1]).index_add(
            0, index.flatten(), value.flatten()[:, None] * dense[rows]
        )


def get_inputs():
    return [torch.randint(0, features, (rows, kept)), torch.randn(rows, kept), torch.randn(rows, width), features]


def get_init_inputs():
    return []
