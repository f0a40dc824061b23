"""Bilinear interpolation to a given size, corners aligned or not, as F.interpolate does.

Any sizes, growing or shrinking (without antialiasing); any finite values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, height, width, aligned):
        return F.interpolate(x, size=(height, width), mode="bilinear", align_corners=aligned)


CASES = [
    dict(name="large", dtype="float32", planes=256, h=64, w=64, height=256, width=256, aligned=False),
    dict(name="odd", dtype="float32", held_out=True, planes=5, h=17, w=23, height=40, width=11, aligned=True),
    dict(name="small", dtype="float32", small=True, planes=3, h=7, w=5, height=13, width=20, aligned=False),
    dict(name="corners", dtype="float32", small=True, planes=2, h=6, w=9, height=17, width=4, aligned=True),
    dict(name="line", dtype="float32", small=True, planes=2, h=8, w=8, height=1, width=24, aligned=True),
]


def get_inputs(planes=256, h=64, w=64, height=256, width=256, aligned=False):
    return [torch.randn(1, planes, h, w), height, width, aligned]


def get_init_inputs():
    return []
