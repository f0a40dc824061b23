"""The mean of the keys of each sequence, whose pages lie anywhere in memory and are named by a table."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """keys: (pages, page, width); table: (sequences, pages of each). Out: (sequences, width)."""

    def forward(self, keys, table):
        return keys[table].mean(dim=(1, 2))


CASES = [
    dict(name="timed", dtype="float32", pages=3000, page=16, width=28, sequences=9, length=5),
    dict(name="ragged", dtype="float32", small=True, pages=20, page=3, width=20, sequences=3, length=4),
]


def get_inputs(pages=3000, page=16, width=28, sequences=9, length=5):
    return [torch.randn(pages, page, width), torch.randint(0, pages, (sequences, length))]


def get_init_inputs():
    return []
