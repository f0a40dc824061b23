# depthwise_conv2d, trial 13, round 1: tune of 9, by builtin
# passed: 549.5 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: ROWS=32, depthwise_conv2d_kernel.num_stages=2, depthwise_conv2d_kernel.num_warps=8

"""Depthwise convolution, one program per strip of ROWS output rows of one channel, marching down its rows.

Idea: each row of x is loaded once per strip, in KERNEL_WIDTH shifted copies (the shifts hit L1), and added to the
KERNEL_HEIGHT output rows that it belongs to, which wait in registers. No division per element, a third of the loads.
Must move: x once and out once; the strips read KERNEL_HEIGHT - 1 rows twice.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width,
    ROWS: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    first = tl.program_id(0) * ROWS
    column = tl.arange(0, BLOCK_W)
    inside = column < out_width
    w = weight_ptr + plane % channels * 9
    w00 = tl.load(w).to(tl.float32)
    w01 = tl.load(w + 1).to(tl.float32)
    w02 = tl.load(w + 2).to(tl.float32)
    w10 = tl.load(w + 3).to(tl.float32)
    w11 = tl.load(w + 4).to(tl.float32)
    w12 = tl.load(w + 5).to(tl.float32)
    w20 = tl.load(w + 6).to(tl.float32)
    w21 = tl.load(w + 7).to(tl.float32)
    w22 = tl.load(w + 8).to(tl.float32)

    row_ptr = x_ptr + plane * height * width + first * width + column
    to_ptr = out_ptr + plane * out_height * out_width + (first - 2) * out_width + column
    older = tl.zeros((BLOCK_W,), tl.float32)  # the output row that this row of x completes
    newer = tl.zeros((BLOCK_W,), tl.float32)  # the one that the next row completes
    for step in range(ROWS + 2):
        there = inside & (first + step < height)
        a = tl.load(row_ptr, mask=there, other=0.0).to(tl.float32)
        b = tl.load(row_ptr + 1, mask=there, other=0.0).to(tl.float32)
        c = tl.load(row_ptr + 2, mask=there, other=0.0).to(tl.float32)
        done = older + a * w20 + b * w21 + c * w22
        older = newer + a * w10 + b * w11 + c * w12
        newer = a * w00 + b * w01 + c * w02
        tl.store(to_ptr, done, mask=there & (step >= 2))
        row_ptr += width
        to_ptr += out_width


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    ROWS = 32
    BLOCK_W = triton.next_power_of_2(out_width)
    grid = (triton.cdiv(out_height, ROWS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width,
        ROWS=ROWS, BLOCK_W=BLOCK_W, num_warps=8, num_stages=2,
    )  # fmt: skip
    return out
