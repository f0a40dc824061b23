"""Transposed 3-D convolution with stride 2, padding 1 and dilation 2.

Input index i meets tap k at output 2*i - 1 + 2*k, which is odd: outputs with an even coordinate are exactly zero,
7/8 of them all. What is left is an ordinary 27-tap convolution written to every second place.
"""

import torch
import torch.nn as nn

KERNEL_SIZE, STRIDE, PADDING, DILATION = 3, 2, 1, 2


class Model(nn.Module):
    """x: (batch, in_channels, depth, height, width); no bias."""

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.conv = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False
        )

    def forward(self, x):
        return self.conv(x)


def _case(name, dtype, batch, in_channels, out_channels, depth, height, width, **marks):
    return dict(
        name=name, dtype=dtype, batch=batch, in_channels=in_channels, out_channels=out_channels,
        depth=depth, height=height, width=width, **marks,
    )  # fmt: skip


LIBRARY = "none"  # own kernels only

CASES = [
    _case("16x32to64x16x32x32_bf16", "bfloat16", 16, 32, 64, 16, 32, 32),
    _case("3x20to33x7x9x11_fp32", "float32", 3, 20, 33, 7, 9, 11, held_out=True),
    _case("2x48to17x5x17x13_fp16", "float16", 2, 48, 17, 5, 17, 13, held_out=True),
    _case("1x3to5x3x4x3_fp32", "float32", 1, 3, 5, 3, 4, 3, small=True),
    _case("2x40to70x2x2x2_fp16", "float16", 2, 40, 70, 2, 2, 2, small=True),
    _case("1x5to8x2x3x6_fp16", "float16", 1, 5, 8, 2, 3, 6, small=True),
]


def get_inputs(batch=16, in_channels=32, depth=16, height=32, width=32):
    return [torch.randn(batch, in_channels, depth, height, width)]


def get_init_inputs(in_channels=32, out_channels=64):
    return [in_channels, out_channels, KERNEL_SIZE, STRIDE, PADDING, DILATION]


def work(batch, in_channels, out_channels, depth, height, width):
    """Two FLOP for each pair of input and tap that meets inside the output; the bytes are the compulsory ones."""
    pairs = 1
    for size in (depth, height, width):
        out_size = (size - 1) * STRIDE - 2 * PADDING + DILATION * (KERNEL_SIZE - 1) + 1
        targets = (STRIDE * i - PADDING + DILATION * k for i in range(size) for k in range(KERNEL_SIZE))
        pairs *= sum(1 for target in targets if 0 <= target < out_size)
    return {"flop": 2 * batch * in_channels * out_channels * pairs}
