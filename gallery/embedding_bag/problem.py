"""Sums of rows of a large table, picked by number: the pooled lookup of recommendation models (EmbeddingBag)."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """ids: (bags, length) int64, rows of the table; table: (rows, width). Out: (bags, width), a sum for each bag."""

    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, width, mode="sum")

    def forward(self, ids):
        return self.table(ids)


def _case(bags, length, rows, width, dtype, short, **marks):
    name = f"{bags}x{length}_of_{rows}x{width}_{short}"
    return dict(name=name, dtype=dtype, bags=bags, length=length, rows=rows, width=width, **marks)


LIBRARY = "none"  # own kernels only

CASES = [
    _case(16384, 32, 2000000, 128, "bfloat16", "bf16"),
    _case(4096, 50, 500000, 64, "float32", "fp32", held_out=True),
    _case(1009, 17, 100003, 100, "float16", "fp16", held_out=True),
    _case(77, 200, 30000, 768, "bfloat16", "bf16", held_out=True),
    _case(5, 7, 40, 33, "float32", "fp32", small=True),
    _case(6, 3, 50, 64, "float16", "fp16", small=True),
]


def get_inputs(bags=16384, length=32, rows=2000000):
    return [torch.randint(0, rows, (bags, length))]


def get_init_inputs(rows=2000000, width=128):
    return [rows, width]
