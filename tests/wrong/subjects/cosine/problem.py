"""The cosine of the angle between two rows, as F.cosine_similarity has it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 6


class Model(nn.Module):
    def forward(self, x, y):
        return F.cosine_similarity(x, y, dim=-1)


CASES = [dict(name="small", dtype="float32", small=True), dict(name="timed", dtype="float32", rows=64)]


def get_inputs():
    return [torch.randn(rows, 40), torch.randn(rows, 40)]


def get_init_inputs():
    return []
