"""A linear layer: a matrix product with weights, and a bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, taken, given):
        super().__init__()
        self.layer = nn.Linear(taken, given)

    def forward(self, x):
        return self.layer(x)


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=18, taken=40, given=23),
    dict(name="timed", dtype="float32", rows=514, taken=1036, given=777),
]


def get_inputs(rows=18, taken=40):
    return [torch.randn(rows, taken)]


def get_init_inputs(taken=40, given=23):
    return [taken, given]
