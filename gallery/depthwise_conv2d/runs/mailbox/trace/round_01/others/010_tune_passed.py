# depthwise_conv2d, trial 10, round 1: tune of 8, by builtin
# passed: 846.2 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_W=256, ROWS=4, depthwise_conv2d_kernel.num_stages=4, depthwise_conv2d_kernel.num_warps=8

"""Depthwise convolution, one program per tile of ROWS by BLOCK_W outputs of one channel, all of its rows at once.

Idea: a row of the tile is a row of the image, so that no lane divides, and a lane's neighbours read neighbouring elements.
All KERNEL_HEIGHT * KERNEL_WIDTH loads of a tile are independent and under way together; what overlaps comes from L1.
Must move: x once and out once; tiles read KERNEL_HEIGHT - 1 rows and KERNEL_WIDTH - 1 columns twice.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width,
    ROWS: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(2).to(tl.int64)  # image * channels + channel
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    inside = (row < out_height)[:, None] & (column < out_width)[None, :]
    corner = x_ptr + plane * height * width + row[:, None] * width + column[None, :]
    w = weight_ptr + plane % channels * 9
    acc = tl.zeros((ROWS, BLOCK_W), tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            x = tl.load(corner + i * width + j, mask=inside, other=0.0).to(tl.float32)
            acc += x * tl.load(w + i * 3 + j).to(tl.float32)
    tl.store(out_ptr + plane * out_height * out_width + row[:, None] * out_width + column[None, :], acc, mask=inside)


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    ROWS = 4
    BLOCK_W = 256
    grid = (triton.cdiv(out_width, BLOCK_W), triton.cdiv(out_height, ROWS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width,
        ROWS=ROWS, BLOCK_W=BLOCK_W, num_warps=8, num_stages=4,
    )  # fmt: skip
    return out
