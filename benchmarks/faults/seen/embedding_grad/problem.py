"""Gradient of an embedding table: row v is the sum of dy over tokens equal to v, zero for the padding row and unused rows.

`tokens` are row numbers, repeats are common; the padding number's tokens are left out."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, dy, tokens, rows, padding):
        counts = tokens != padding
        out = torch.zeros(rows, dy.shape[1], dtype=dy.dtype, device=dy.device)
        return out.index_add(0, tokens, dy * counts[:, None])


CASES = [
    dict(name="large", dtype="float32", rows=5000, count=16384, features=256, padding=1),
    dict(name="odd", dtype="float32", held_out=True, rows=301, count=777, features=99, padding=0),
    dict(name="small", dtype="float32", small=True, rows=12, count=50, features=20, padding=0),
    dict(name="other", dtype="float32", small=True, rows=9, count=70, features=40, padding=5),
]


def get_inputs(rows=5000, count=16384, features=256, padding=1):
    tokens = torch.randint(0, rows, (count,))
    tokens[torch.rand(count) < 0.2] = padding
    return [torch.randn(count, features), tokens, rows, padding]


def get_init_inputs():
    return []
