"""Transposed convolution as a gather, one program per BLOCK_P outputs of one image and BLOCK_O output channels.

Idea: an output at o receives tap k from the input at (o + padding - k * dilation) / stride where that divides and
lies inside. Per tap, a program gathers those inputs (positions x in_channels) and multiplies them by the tap's
weights (in_channels x out_channels). Outputs that no tap reaches get the zeros that they are.
Must move: x and weight once, out once, mostly the writing of out; 2 * in_channels * out_channels FLOP for each
input and tap that meet. This first kernel does the product for every output, reached or not: 8 times as much.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def conv_transpose3d_kernel(
    x_ptr, weight_ptr, out_ptr, in_channels, out_channels,
    depth, height, width, out_depth, out_height, out_width,
    KERNEL_SIZE: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr, DILATION: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_O: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    TAPS: tl.constexpr = KERNEL_SIZE * KERNEL_SIZE * KERNEL_SIZE
    positions = out_depth * out_height * out_width
    position = (tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P))[:, None]  # (BLOCK_P, 1)
    o = (tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O))[None, :]  # (1, BLOCK_O)
    image = tl.program_id(2).to(tl.int64)
    x_image = x_ptr + image * in_channels * depth * height * width
    out_image = out_ptr + image * out_channels * positions
    out_d = position // (out_height * out_width) + PADDING
    out_h = position // out_width % out_height + PADDING
    out_w = position % out_width + PADDING
    c_row = tl.arange(0, BLOCK_C)[None, :]
    c_column = tl.arange(0, BLOCK_C)[:, None]

    acc = tl.zeros((BLOCK_P, BLOCK_O), tl.float32)
    for tap in range(0, TAPS):
        # Where the tap would have come from, times STRIDE.
        d = out_d - tap // (KERNEL_SIZE * KERNEL_SIZE) * DILATION
        h = out_h - tap // KERNEL_SIZE % KERNEL_SIZE * DILATION
        w = out_w - tap % KERNEL_SIZE * DILATION
        reached = (d >= 0) & (d < depth * STRIDE) & (d % STRIDE == 0)
        reached = reached & (h >= 0) & (h < height * STRIDE) & (h % STRIDE == 0)
        reached = reached & (w >= 0) & (w < width * STRIDE) & (w % STRIDE == 0) & (position < positions)
        source = (d // STRIDE * height + h // STRIDE) * width + w // STRIDE
        for start in range(0, in_channels, BLOCK_C):
            x = tl.load(
                x_image + (start + c_row) * (depth * height * width) + source,
                mask=reached & (start + c_row < in_channels),
                other=0.0,
            )
            weight = tl.load(
                weight_ptr + ((start + c_column) * out_channels + o) * TAPS + tap,
                mask=(start + c_column < in_channels) & (o < out_channels),
                other=0.0,
            )
            acc = tl.dot(x, weight, acc, input_precision="ieee")
    tl.store(out_image + o * positions + position, acc, mask=(position < positions) & (o < out_channels))


class ModelNew(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation):
        super().__init__()
        self.conv = torch.nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, bias=False
        )
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x):
        x = x.contiguous()
        weight = self.conv.weight.contiguous()
        batch, in_channels, depth, height, width = x.shape
        out_channels = weight.shape[1]
        reach = self.dilation * (self.kernel_size - 1) + 1 - 2 * self.padding
        out_depth = (depth - 1) * self.stride + reach
        out_height = (height - 1) * self.stride + reach
        out_width = (width - 1) * self.stride + reach
        out = torch.empty((batch, out_channels, out_depth, out_height, out_width), dtype=x.dtype, device=x.device)
        BLOCK_P = 64
        BLOCK_O = 64
        grid = (triton.cdiv(out_depth * out_height * out_width, BLOCK_P), triton.cdiv(out_channels, BLOCK_O), batch)
        conv_transpose3d_kernel[grid](
            x, weight, out, in_channels, out_channels,
            depth, height, width, out_depth, out_height, out_width,
            KERNEL_SIZE=self.kernel_size, STRIDE=self.stride, PADDING=self.padding, DILATION=self.dilation,
            BLOCK_P=BLOCK_P, BLOCK_O=BLOCK_O, BLOCK_C=32, num_warps=4, num_stages=2,
        )  # fmt: skip
        return out
