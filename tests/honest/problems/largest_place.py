"""The place of the largest of each row, of which several may be equal."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.topk(1, -1).indices


CASES = [
    dict(name="ragged", dtype="float32", small=True, rows=9, columns=51),
    dict(name="timed", dtype="float32", rows=33, columns=63),
]


def get_inputs(rows=33, columns=63):
    return [torch.randint(0, 3, (rows, columns)) / 2]


def get_init_inputs():
    return []
