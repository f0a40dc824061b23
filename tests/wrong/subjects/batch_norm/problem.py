"""BatchNorm of rows with the statistics of training."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(40)

    def forward(self, x):
        return self.norm(x)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
