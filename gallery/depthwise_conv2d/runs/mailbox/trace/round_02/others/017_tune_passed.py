# depthwise_conv2d, trial 17, round 2: tune of 15, by builtin
# passed: 446.7 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCKS=8, depthwise_conv2d_kernel.num_stages=2, depthwise_conv2d_kernel.num_warps=4

"""Depthwise convolution, one program per strip of output rows of one channel, marching down it AHEAD rows at a time.

Idea: each row of x is loaded once per strip, in three shifted copies (the shifts hit L1), and added to the three output
rows that it belongs to, which wait in registers. AHEAD rows are loaded before the first of them is used, so that more
bytes are under way while the rows before them are added up.
Must move: x once and out once; the strips read two rows twice.
Serves: 3x3 filters, stride 1, no padding.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width,
    AHEAD: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    first = tl.program_id(0) * (AHEAD * BLOCKS)
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
    to_ptr = out_ptr + plane * out_height * out_width + first * out_width + column
    older = tl.zeros((BLOCK_W,), tl.float32)
    newer = tl.zeros((BLOCK_W,), tl.float32)
    for step in tl.static_range(2):  # the two rows above the first that completes an output row
        a = tl.load(row_ptr, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(row_ptr + 1, mask=inside, other=0.0).to(tl.float32)
        c = tl.load(row_ptr + 2, mask=inside, other=0.0).to(tl.float32)
        older = newer + a * w10 + b * w11 + c * w12
        newer = a * w00 + b * w01 + c * w02
        row_ptr += width

    for block in range(BLOCKS):
        left = ()
        middle = ()
        right = ()
        for step in tl.static_range(AHEAD):
            there = inside & (first + block * AHEAD + step < out_height)
            left += (tl.load(row_ptr, mask=there, other=0.0),)
            middle += (tl.load(row_ptr + 1, mask=there, other=0.0),)
            right += (tl.load(row_ptr + 2, mask=there, other=0.0),)
            row_ptr += width
        for step in tl.static_range(AHEAD):
            a = left[step].to(tl.float32)
            b = middle[step].to(tl.float32)
            c = right[step].to(tl.float32)
            there = inside & (first + block * AHEAD + step < out_height)
            tl.store(to_ptr, older + a * w20 + b * w21 + c * w22, mask=there)
            older = newer + a * w10 + b * w11 + c * w12
            newer = a * w00 + b * w01 + c * w02
            to_ptr += out_width


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    AHEAD = 4
    BLOCKS = 8
    BLOCK_W = triton.next_power_of_2(out_width)
    grid = (triton.cdiv(out_height, AHEAD * BLOCKS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width,
        AHEAD=AHEAD, BLOCKS=BLOCKS, BLOCK_W=BLOCK_W, num_warps=4, num_stages=2,
    )  # fmt: skip
    return out
