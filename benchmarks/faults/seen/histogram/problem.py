"""Weighted histogram with equal bins over [low, high]: the last bin includes `high`, values outside count nowhere.

Values are multiples of 1/4 or any other finite numbers; bins are such that bin edges are exact in float32 (width a power of
two). Weights are small whole numbers in float32, so sums are exact in any order."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, weight, bins, low, high):
        inside = (x >= low) & (x <= high)
        which = torch.floor((x - low) / ((high - low) / bins)).clamp(0, bins - 1).to(torch.int64)
        out = torch.zeros(bins, dtype=torch.float32, device=x.device)
        return out.index_add(0, which, torch.where(inside, weight, 0.0).float())


CASES = [
    dict(name="large", size=1 << 22, bins=128, low=-4.0, high=4.0),
    dict(name="odd", held_out=True, size=100003, bins=12, low=-1.5, high=1.5),
    dict(name="small", small=True, size=2000, bins=16, low=-2.0, high=2.0),
    dict(name="few", small=True, size=300, bins=5, low=-1.0, high=0.25),
]


def get_inputs(size=1 << 22, bins=128, low=-4.0, high=4.0):
    return [(torch.randn(size) * 8).round() / 4, torch.randint(-3, 5, (size,)).float(), bins, low, high]


def get_init_inputs():
    return []
