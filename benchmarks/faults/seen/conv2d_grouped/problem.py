"""2-d convolution with stride, zero padding, dilation and groups, plus bias. Any finite values.

Windows are square or not; each number is the same in both directions. Groups divide the channels."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, weight, bias, stride, padding, dilation, groups):
        return F.conv2d(x, weight, bias, stride, padding, dilation, groups)


CASES = [
    dict(name="large", dtype="float32", batch=16, inner=64, outer=128, size=56, kh=3, kw=3, stride=1, padding=1, dilation=1, groups=1),
    dict(name="odd", dtype="float32", held_out=True, batch=2, inner=6, outer=9, size=23, kh=2, kw=3, stride=2, padding=2, dilation=2, groups=3),
    dict(name="small", dtype="float32", small=True, batch=2, inner=4, outer=6, size=9, kh=3, kw=3, stride=2, padding=1, dilation=1, groups=2),
    dict(name="flat", dtype="float32", small=True, batch=1, inner=3, outer=2, size=11, kh=1, kw=3, stride=1, padding=1, dilation=2, groups=1),
]


def get_inputs(batch=16, inner=64, outer=128, size=56, kh=3, kw=3, stride=1, padding=1, dilation=1, groups=1):
    return [
        torch.randn(batch, inner, size, size + 3), torch.randn(outer, inner // groups, kh, kw), torch.randn(outer),
        stride, padding, dilation, groups,
    ]


def get_init_inputs():
    return []
