"""Group norm followed by SiLU, with a weight and a bias for each channel, on (batch, channels, length).

Any finite values. `groups` divides the channels."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=1e-6)

    def forward(self, x):
        return F.silu(self.norm(x))


CASES = [
    dict(name="large", dtype="float16", batch=32, groups=32, channels=512, length=4096),
    dict(name="odd", dtype="float32", held_out=True, batch=3, groups=7, channels=21, length=1001),
    dict(name="small", dtype="float32", small=True, batch=2, groups=3, channels=12, length=35),
    dict(name="one", dtype="float32", small=True, batch=2, groups=5, channels=5, length=200),
    dict(name="half", dtype="float16", small=True, batch=2, groups=2, channels=8, length=64),
]


def get_inputs(batch=32, channels=512, length=4096):
    return [torch.randn(batch, channels, length) * 2 + 1]


def get_init_inputs(groups=32, channels=512):
    return [groups, channels]
