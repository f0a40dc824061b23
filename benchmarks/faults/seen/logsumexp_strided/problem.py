"""Log-sum-exp over the middle dimension of (batch, classes, positions).

Any values, minus infinity included (a position where all are minus infinity gives minus infinity), no NaN, no plus infinity."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1)


CASES = [
    dict(name="large", dtype="float32", batch=64, classes=1024, positions=1024),
    dict(name="odd", dtype="float32", held_out=True, batch=3, classes=67, positions=1001),
    dict(name="small", dtype="float32", small=True, batch=3, classes=20, positions=45),
    dict(name="deep", dtype="float32", small=True, batch=2, classes=150, positions=11),
]


def get_inputs(batch=64, classes=1024, positions=1024):
    x = torch.randn(batch, classes, positions) * 3
    return [x]


def get_init_inputs():
    return []
