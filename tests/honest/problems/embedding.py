"""Rows of a table picked by integer indices, times the square root of their width."""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width)

    def forward(self, tokens):
        return self.table(tokens) * math.sqrt(self.table.embedding_dim)


CASES = [
    {"name": "timed", "dtype": "float32", "rows": 1000, "width": 28, "batch": 9, "length": 65},
    {"name": "ragged", "dtype": "float32", "small": True, "rows": 50, "width": 20, "batch": 2, "length": 7},
]


def get_inputs(rows=1000, batch=9, length=65):
    return [torch.randint(0, rows, (batch, length))]


def get_init_inputs(rows=1000, width=28):
    return [rows, width]
