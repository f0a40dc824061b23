"""Depthwise 3x3 convolution: every channel has its own filter, so there is no product for the tensor cores."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """x: (batch, channels, height, width); no padding, stride 1, no bias."""

    def __init__(self, channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size, groups=channels, bias=False)

    def forward(self, x):
        return self.conv(x)


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="16x64x512x512_bf16", dtype="bfloat16", batch=16, channels=64, height=512, width=512),
    dict(name="3x7x65x129_fp32", dtype="float32", held_out=True, batch=3, channels=7, height=65, width=129),
    dict(name="2x33x100x47_fp16", dtype="float16", held_out=True, batch=2, channels=33, height=100, width=47),
    dict(name="2x3x9x13_fp32", dtype="float32", small=True, batch=2, channels=3, height=9, width=13),
    dict(name="1x2x40x35_fp16", dtype="float16", small=True, batch=1, channels=2, height=40, width=35),
]


def get_inputs(batch=16, channels=64, height=512, width=512):
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs(channels=64):
    return [channels, 3]
