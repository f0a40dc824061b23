"""Causal attention of several heads, without a division by a power of two."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, q, k, v):
        return (
            torch.softmax((q @ k.mT * 0.25).masked_fill(q.new_ones(q.shape[1], q.shape[1]).triu(1) > 0, -torch.inf), -1)
            @ v
        )


CASES = [
    dict(name="ragged", dtype="float32", small=True, heads=2, rows=8),
    dict(name="timed", dtype="float32", heads=3, rows=13),
]


def get_inputs(heads=3, rows=13):
    return [*torch.randn(3, heads, rows, 16)]


def get_init_inputs():
    return []
