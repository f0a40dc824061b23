"""Rows of tokens in the order of their experts."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """x: (rows, columns); order: (picked,) int32, each a row of x."""

    def forward(self, x, order):
        return x[order]


CASES = [
    dict(name="batch_bf16", dtype="bfloat16", rows=32768, picked=65536, columns=4096),
    dict(name="large_bf16", dtype="bfloat16", held_out=True, rows=600_000, picked=32768, columns=4096),
    dict(name="small_fp32", dtype="float32", small=True, rows=40, picked=23, columns=70),
]


def get_inputs(rows=32768, picked=65536, columns=4096):
    return [torch.randn(rows, columns), torch.randint(0, rows, (picked,), dtype=torch.int32)]


def get_init_inputs():
    return []
