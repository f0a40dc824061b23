"""Rows times a matrix of four-bit codes from a table, in blocks of 64."""

import torch
import torch.nn as nn

rows = 8
n = 1024
k = 1024

CASES = [
    dict(name="full", rows=1, n=4096, k=4096, dtype="float16"),
    dict(name="odd", rows=3, n=129, k=256, dtype="float32", held_out=True),
    dict(name="small", small=True, rows=2, n=6, k=128, dtype="float32"),
]

LIBRARY = "any"


class Model(nn.Module):
    def forward(self, x, packed, absmax, code):
        codes = torch.stack([packed >> 4, packed & 15], -1).view(-1, 64).long()
        return x @ (code[codes] * absmax[:, None]).to(x.dtype).view(-1, x.shape[1]).t()


def get_inputs():
    return [
        torch.randn(rows, k),
        torch.randint(0, 256, (n * k // 2, 1), dtype=torch.uint8),
        torch.rand(n * k // 64) + 0.1,
        torch.linspace(-1, 1, 16),
    ]


def get_init_inputs():
    return []
