"""Max pooling with dilation and padding, and the flat index (in the input plane) of each maximum, the first among equals.

Any finite values; ties are common."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, window, stride, padding, dilation):
        return F.max_pool2d(x, window, stride, padding, dilation, return_indices=True)


CASES = [
    dict(name="large", dtype="float32", batch=32, channels=64, height=112, width=112, window=3, stride=2, padding=1, dilation=1),
    dict(name="odd", dtype="float32", held_out=True, batch=2, channels=5, height=37, width=53, window=3, stride=1, padding=1, dilation=3),
    dict(name="small", dtype="float32", small=True, batch=2, channels=3, height=9, width=14, window=3, stride=2, padding=1, dilation=1),
    dict(name="dilated", dtype="float32", small=True, batch=1, channels=3, height=12, width=11, window=3, stride=1, padding=1, dilation=2),
]


def get_inputs(batch=32, channels=64, height=112, width=112, window=3, stride=2, padding=1, dilation=1):
    return [(torch.randn(batch, channels, height, width) * 2).round() / 2, window, stride, padding, dilation]


def get_init_inputs():
    return []
