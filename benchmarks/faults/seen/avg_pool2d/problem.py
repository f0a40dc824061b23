"""Average pooling with padding that does not count, and partial windows at the end (ceil_mode).

Square window, stride and padding given as numbers, padding at most half the window. Any finite values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, window, stride, padding):
        return F.avg_pool2d(x, window, stride, padding, ceil_mode=True, count_include_pad=False)


CASES = [
    dict(name="large", dtype="float32", batch=32, channels=64, height=112, width=112, window=3, stride=2, padding=1),
    dict(name="odd", dtype="float32", held_out=True, batch=2, channels=5, height=37, width=53, window=4, stride=3, padding=2),
    dict(name="small", dtype="float32", small=True, batch=2, channels=3, height=10, width=13, window=3, stride=2, padding=1),
    dict(name="gaps", dtype="float32", small=True, batch=1, channels=2, height=12, width=11, window=2, stride=3, padding=0),
    dict(name="dense", dtype="float32", small=True, batch=1, channels=2, height=8, width=9, window=5, stride=1, padding=2),
]


def get_inputs(batch=32, channels=64, height=112, width=112, window=3, stride=2, padding=1):
    return [torch.randn(batch, channels, height, width), window, stride, padding]


def get_init_inputs():
    return []
