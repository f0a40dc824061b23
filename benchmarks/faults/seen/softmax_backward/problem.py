"""Gradient of softmax: dx = (dy - sum(dy * y)) * y, over the last dimension.

`y` is a softmax's output (rows of non-negative numbers that sum to one, zeros included), `dy` is anything."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, y, dy):
        return (dy - (dy * y).sum(-1, keepdim=True)) * y


CASES = [
    dict(name="large", dtype="bfloat16", rows=16384, cols=4096),
    dict(name="odd", dtype="float32", held_out=True, rows=101, cols=3001),
    dict(name="small", dtype="float32", small=True, rows=9, cols=100),
    dict(name="long", dtype="float32", small=True, rows=3, cols=1500),
    dict(name="half", dtype="float16", small=True, rows=4, cols=257),
]


def get_inputs(rows=16384, cols=4096):
    return [torch.softmax(torch.randn(rows, cols) * 3, -1), torch.randn(rows, cols)]


def get_init_inputs():
    return []
