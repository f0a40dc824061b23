"""Each token less the one before it; zeros before the first."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
length = 512
width = 1024

CASES = [
    dict(name="full", batch=4, length=512, width=1024, dtype="bfloat16"),
    dict(name="small", small=True, batch=2, length=5, width=33, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x):
        before = F.pad(x, (0, 0, 1, 0))[:, :-1]
        return before - x


def get_inputs():
    return [torch.randn(batch, length, width)]


def get_init_inputs():
    return []
