"""Rows as whole numbers up to 127, many next to a step."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.round(x / (x.abs().amax(-1, keepdim=True) / 127)).to(torch.int8)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=9, columns=51),
    dict(name="timed", dtype="float32", rows=33, columns=63),
]


STEPS = torch.tensor([41.0, 47.0, 55.0, 61.0, 83.0, 97.0, 107.0, 109.0, 115.0])[:, None]
"""A step times its rounded reciprocal is not 1."""


def get_inputs(rows=33, columns=63):
    signs = torch.cat([torch.ones(rows, 1), torch.randn(rows, columns - 1).sign() / 2], 1)
    return [signs * STEPS.repeat(rows, 1)[:rows] * (127 / 1024)]


def get_init_inputs():
    return []
