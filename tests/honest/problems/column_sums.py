"""the sum of magnitudes and the maximum of each column, in both precisions"""

import torch
import torch.nn as nn

rows = 70


class Model(nn.Module):
    def forward(self, x):
        return x.abs().sum(0), x.amax(0)


CASES = [
    dict(name="ragged", dtype="float32", small=True),
    dict(name="half", dtype="float16", small=True),
    dict(name="timed", dtype="float32", rows=2100),
]


def get_inputs():
    return [torch.randn(rows, 33)]


def get_init_inputs():
    return []
