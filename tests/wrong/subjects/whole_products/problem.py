"""Row sums of products of whole numbers given as floats."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def forward(self, x, y):
        return (x * y).sum(dim=-1)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40), torch.randint(0, 8, (rows, 40)).float()]


def get_init_inputs():
    return []
