"""Rows divided by their norm, as F.normalize does it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 6


class Model(nn.Module):
    def forward(self, x):
        return F.normalize(x, dim=-1)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40)]


def get_init_inputs():
    return []
