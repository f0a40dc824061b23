"""Row sums of the columns that a mask of zeros and ones names."""

import torch
import torch.nn as nn

rows = 6


class Model(nn.Module):
    def forward(self, x, mask):
        return (x * mask).sum(dim=-1)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40), torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0]).repeat(8)]


def get_init_inputs():
    return []
