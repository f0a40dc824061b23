# depthwise_conv2d, trial 21, round 2: tune of 20, by builtin
# passed: 333.6 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: ROWS=8, depthwise_conv2d_kernel.num_stages=1, depthwise_conv2d_kernel.num_warps=2

"""Depthwise convolution, one program per strip of output rows of one channel; a lane owns two neighbouring outputs.

Idea: two neighbouring outputs need four neighbouring inputs of each row, which are two pairs: a lane loads its own pair and
the next one and has all that three taps need. Loads and stores are four bytes wide instead of two, and there are a
third fewer of them for each output.
Must move: x once and out once; the strips read two rows twice.
Serves: 3x3 filters, stride 1, no padding; rows of odd length take a slower way.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width, half_width, half_out,
    EVEN: tl.constexpr, ROWS: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    first = tl.program_id(0) * ROWS
    pair = tl.arange(0, PAIRS)[:, None]
    column = 2 * pair + tl.arange(0, 2)[None, :]
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

    zero = tl.zeros((PAIRS,), tl.float32)
    older_l, older_r, newer_l, newer_r = zero, zero, zero, zero
    for step in range(ROWS + 2):
        fits = first + step < height
        if EVEN:  # twice a number: the compiler sees that a pair is aligned
            row_ptr = x_ptr + 2 * ((plane * height + first + step) * half_width) + column
            to_ptr = out_ptr + 2 * ((plane * out_height + first + step - 2) * half_out) + column
            here = (pair < half_width) & fits
            next = (pair + 1 < half_width) & fits
            stored = (pair < half_out) & fits & (step >= 2)
        else:
            row_ptr = x_ptr + (plane * height + first + step) * width + column
            to_ptr = out_ptr + (plane * out_height + first + step - 2) * out_width + column
            here = (column < width) & fits
            next = (column + 2 < width) & fits
            stored = (column < out_width) & fits & (step >= 2)
        a, b = tl.split(tl.load(row_ptr, mask=here, other=0.0).to(tl.float32))
        c, d = tl.split(tl.load(row_ptr + 2, mask=next, other=0.0).to(tl.float32))
        done = tl.join(older_l + a * w20 + b * w21 + c * w22, older_r + b * w20 + c * w21 + d * w22)
        tl.store(to_ptr, done.to(out_ptr.dtype.element_ty), mask=stored)
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
    ROWS = 8
    PAIRS = triton.next_power_of_2(triton.cdiv(out_width, 2))
    grid = (triton.cdiv(out_height, ROWS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width, width // 2, out_width // 2,
        EVEN=width % 2 == 0, ROWS=ROWS, PAIRS=PAIRS, num_warps=2, num_stages=1,
    )  # fmt: skip
    return out
