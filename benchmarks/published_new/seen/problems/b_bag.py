"""Weighted sum of the rows that each bag names."""

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


class Model(nn.Module):
    def forward(self, index, weight, factor):
        return (factor[..., None] * weight[index]).sum(1)


def get_inputs():
    return [torch.randint(0, features, (rows, kept)), torch.randn(features, width), torch.randn(rows, kept)]


def get_init_inputs():
    return []
