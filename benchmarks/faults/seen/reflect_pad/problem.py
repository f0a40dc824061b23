"""Pads images by reflection without repeating the border, by different amounts on the four sides; then adds a bias per channel.

Amounts are from 0 to size - 1. Any values of any dtype that PyTorch pads."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, bias, left, right, top, bottom):
        return F.pad(x, (left, right, top, bottom), mode="reflect") + bias[:, None, None]


CASES = [
    dict(name="large", dtype="float32", batch=16, channels=32, height=224, width=224, left=3, right=3, top=3, bottom=3),
    dict(name="odd", dtype="float32", held_out=True, batch=2, channels=3, height=31, width=45, left=0, right=44, top=30, bottom=1),
    dict(name="small", dtype="float32", small=True, batch=2, channels=3, height=8, width=11, left=2, right=1, top=0, bottom=3),
    dict(name="most", dtype="float32", small=True, batch=1, channels=2, height=5, width=7, left=6, right=6, top=4, bottom=4),
]


def get_inputs(batch=16, channels=32, height=224, width=224, left=3, right=3, top=3, bottom=3):
    return [torch.randn(batch, channels, height, width), torch.randn(channels), left, right, top, bottom]


def get_init_inputs():
    return []
