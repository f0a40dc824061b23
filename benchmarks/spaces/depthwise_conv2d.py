"""Depthwise convolution, tile by tile, with everything that can be tuned as a number.

Idea: a program walks down TILES_PER_PROGRAM tiles of BLOCK_H x BLOCK_W outputs of one channel, tap by tap, with the
channel's filter as scalars; neighbouring lanes read neighbouring elements, so a window's overlap comes from L1.
Must move: x once and out once (nearly 2 * batch * channels * height * width elements); 2 FLOP per tap and output.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width,
    KERNEL_HEIGHT: tl.constexpr, KERNEL_WIDTH: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr, TILES_PER_PROGRAM: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)[None, :]
    plane = tl.program_id(2).to(tl.int64)  # image * channels + channel
    x_plane = x_ptr + plane * height * width
    out_plane = out_ptr + plane * out_height * out_width
    weight_channel = weight_ptr + plane % channels * (KERNEL_HEIGHT * KERNEL_WIDTH)

    for tile in range(TILES_PER_PROGRAM):
        row = (tl.program_id(1) * TILES_PER_PROGRAM + tile) * BLOCK_H + tl.arange(0, BLOCK_H)[:, None]
        inside = (row < out_height) & (column < out_width)
        acc = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
        for i in tl.static_range(KERNEL_HEIGHT):
            for j in tl.static_range(KERNEL_WIDTH):
                # Without padding the window of an output that exists is always inside x.
                x = tl.load(x_plane + (row + i) * width + column + j, mask=inside, other=0.0).to(tl.float32)
                acc += x * tl.load(weight_channel + i * KERNEL_WIDTH + j).to(tl.float32)
        tl.store(out_plane + row * out_width + column, acc, mask=inside)


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    kernel_height = conv_weight.shape[2]
    kernel_width = conv_weight.shape[3]
    out_height = height - kernel_height + 1
    out_width = width - kernel_width + 1
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    BLOCK_H = 4
    BLOCK_W = 128
    TILES_PER_PROGRAM = 1
    grid = (triton.cdiv(out_width, BLOCK_W), triton.cdiv(out_height, BLOCK_H * TILES_PER_PROGRAM), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width,
        KERNEL_HEIGHT=kernel_height, KERNEL_WIDTH=kernel_width,
        BLOCK_H=BLOCK_H, BLOCK_W=BLOCK_W, TILES_PER_PROGRAM=TILES_PER_PROGRAM, num_warps=4,
    )  # fmt: skip
    return out
