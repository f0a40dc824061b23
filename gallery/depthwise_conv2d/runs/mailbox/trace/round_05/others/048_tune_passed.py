# depthwise_conv2d, trial 48, round 5: tune of 45, by builtin
# passed: 471.9 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCKS=1, depthwise_conv2d_kernel.num_stages=5, depthwise_conv2d_kernel.num_warps=8

"""Depthwise convolution, one program per strip of output rows of one channel; a lane owns pairs of outputs.

Idea: a lane loads its own pair of each row and the next one, which hold all that three taps need; the two output rows
that lack a row of x wait in registers. The strip is AHEAD * BLOCKS rows long, AHEAD of them loaded before the first
is used: long strips read fewer rows twice, and enough bytes are under way all the same. Odd strips march upwards, so
that two neighbours look at the rows they share at about the same time.
Must move: x once and out once; the strips read two rows twice.
Serves: 3x3 filters, stride 1, no padding; rows of odd length take a slower way.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width, half_width, half_out,
    EVEN: tl.constexpr, AHEAD: tl.constexpr, BLOCKS: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    first = tl.program_id(0) * (AHEAD * BLOCKS)
    pair = tl.arange(0, PAIRS)[:, None]
    column = 2 * pair + tl.arange(0, 2)[None, :]
    w = weight_ptr + plane % channels * 9
    # An odd strip takes its rows of x from the last to the first, and the rows of the filter with them.
    upwards = tl.program_id(0) % 2 == 1
    step_rows = tl.where(upwards, -1, 1)
    x_first = tl.where(upwards, first + AHEAD * BLOCKS + 1, first)
    out_first = tl.where(upwards, first + AHEAD * BLOCKS - 1, first)
    top = tl.where(upwards, 6, 0)
    bottom = 6 - top
    w00 = tl.load(w + top).to(tl.float32)
    w01 = tl.load(w + top + 1).to(tl.float32)
    w02 = tl.load(w + top + 2).to(tl.float32)
    w10 = tl.load(w + 3).to(tl.float32)
    w11 = tl.load(w + 4).to(tl.float32)
    w12 = tl.load(w + 5).to(tl.float32)
    w20 = tl.load(w + bottom).to(tl.float32)
    w21 = tl.load(w + bottom + 1).to(tl.float32)
    w22 = tl.load(w + bottom + 2).to(tl.float32)

    if EVEN:  # twice a number: the compiler sees that a pair is aligned
        here = pair < half_width
        next = pair + 1 < half_width
        stored = pair < half_out
    else:
        here = column < width
        next = column + 2 < width
        stored = column < out_width
    zero = tl.zeros((PAIRS,), tl.float32)
    older_l, older_r, newer_l, newer_r = zero, zero, zero, zero
    for step in tl.static_range(2):
        row = x_first + step * step_rows
        row_ptr = x_ptr + (2 * ((plane * height + row) * half_width) if EVEN else (plane * height + row) * width) + column
        a, b = tl.split(tl.load(row_ptr, mask=here & (row < height), other=0.0).to(tl.float32))
        c, d = tl.split(tl.load(row_ptr + 2, mask=next & (row < height), other=0.0).to(tl.float32))
        older_l = newer_l + a * w10 + b * w11 + c * w12
        older_r = newer_r + b * w10 + c * w11 + d * w12
        newer_l = a * w00 + b * w01 + c * w02
        newer_r = b * w00 + c * w01 + d * w02

    for block in range(BLOCKS):
        own = ()
        other = ()
        for step in tl.static_range(AHEAD):
            row = x_first + (2 + block * AHEAD + step) * step_rows
            row_ptr = x_ptr + (2 * ((plane * height + row) * half_width) if EVEN else (plane * height + row) * width) + column
            own += (tl.load(row_ptr, mask=here & (row < height), other=0.0),)
            other += (tl.load(row_ptr + 2, mask=next & (row < height), other=0.0),)
        for step in tl.static_range(AHEAD):
            a, b = tl.split(own[step].to(tl.float32))
            c, d = tl.split(other[step].to(tl.float32))
            done = tl.join(older_l + a * w20 + b * w21 + c * w22, older_r + b * w20 + c * w21 + d * w22)
            row = out_first + (block * AHEAD + step) * step_rows
            to_ptr = out_ptr + (2 * ((plane * out_height + row) * half_out) if EVEN else (plane * out_height + row) * out_width)
            tl.store(to_ptr + column, done.to(out_ptr.dtype.element_ty), mask=stored & (row < out_height))
            older_l = newer_l + a * w10 + b * w11 + c * w12
            older_r = newer_r + b * w10 + c * w11 + d * w12
            newer_l = a * w00 + b * w01 + c * w02
            newer_r = b * w00 + c * w01 + d * w02


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    AHEAD = 4
    BLOCKS = 1
    PAIRS = triton.next_power_of_2(triton.cdiv(out_width, 2))
    grid = (triton.cdiv(out_height, AHEAD * BLOCKS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width, width // 2, out_width // 2,
        EVEN=width % 2 == 0, AHEAD=AHEAD, BLOCKS=BLOCKS, PAIRS=PAIRS, num_warps=8, num_stages=5,
    )  # fmt: skip
    return out
