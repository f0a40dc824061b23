"""Cumulative sum along the rows of a matrix: each output depends on all that stand before it.

Long rows in float32 only: on a GPU, PyTorch adds in the dtype of the matrix, from block to block of a row, and in
bfloat16 its own result has few digits right.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=-1)


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="8192x8192_fp32", dtype="float32", rows=8192, cols=8192),
    dict(name="1024x65536_fp32", dtype="float32", rows=1024, cols=65536),
    dict(name="16384x1024_fp32", dtype="float32", held_out=True, rows=16384, cols=1024),
    dict(name="1000x5003_fp32", dtype="float32", held_out=True, rows=1000, cols=5003),
    dict(name="77x20001_fp16", dtype="float16", held_out=True, rows=77, cols=20001),
    dict(name="33x70_fp32", dtype="float32", small=True, rows=33, cols=70),
    dict(name="3x2500_fp32", dtype="float32", small=True, rows=3, cols=2500),
    dict(name="4x300_fp16", dtype="float16", small=True, rows=4, cols=300),
]


def get_inputs(rows=8192, cols=8192):
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
