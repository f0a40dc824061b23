# depthwise_conv2d, trial 29, round 3: tune of 27, by builtin
# passed: 333.1 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: ROWS=8, depthwise_conv2d_kernel.num_stages=3, depthwise_conv2d_kernel.num_warps=2

"""Depthwise convolution, one program per strip of output rows of one channel; a lane owns eight neighbouring outputs.

Idea: eight neighbouring outputs need ten neighbouring inputs of each row: one load of 16 bytes and one of the pair beyond.
The shifted copies are made in registers. An eighth of the load instructions of one element each, and no byte but the
pair beyond is asked for twice.
Must move: x once and out once; the strips read two rows twice.
Serves: 3x3 filters, stride 1, no padding; rows whose length is no multiple of eight take a slower way.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def columns_of_eight(x, EIGHTS: tl.constexpr):
    """The eight columns of x: (EIGHTS, 8)."""
    even, odd = tl.split(tl.reshape(x, (EIGHTS, 4, 2)))
    x04, x26 = tl.split(tl.reshape(even, (EIGHTS, 2, 2)))
    x15, x37 = tl.split(tl.reshape(odd, (EIGHTS, 2, 2)))
    x0, x4 = tl.split(x04)
    x2, x6 = tl.split(x26)
    x1, x5 = tl.split(x15)
    x3, x7 = tl.split(x37)
    return x0, x1, x2, x3, x4, x5, x6, x7


@triton.jit
def eight_columns(x0, x1, x2, x3, x4, x5, x6, x7, EIGHTS: tl.constexpr):
    """The inverse."""
    even = tl.reshape(tl.join(tl.join(x0, x4), tl.join(x2, x6)), (EIGHTS, 4))
    odd = tl.reshape(tl.join(tl.join(x1, x5), tl.join(x3, x7)), (EIGHTS, 4))
    return tl.reshape(tl.join(even, odd), (EIGHTS, 8))


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width, eighth_width,
    ALIGNED: tl.constexpr, ROWS: tl.constexpr, EIGHTS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    first = tl.program_id(0) * ROWS
    eighth = tl.arange(0, EIGHTS)[:, None]
    column = 8 * eighth + tl.arange(0, 8)[None, :]
    beyond = 8 * eighth + 8 + tl.arange(0, 2)[None, :]
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

    older = tl.zeros((EIGHTS, 8), tl.float32)
    newer = tl.zeros((EIGHTS, 8), tl.float32)
    for step in range(ROWS + 2):
        row = plane * height + first + step
        fits = first + step < height
        if ALIGNED:  # eight times a number: the compiler sees that eight neighbours are one load
            row_ptr = x_ptr + 8 * (row * eighth_width)
            a = tl.load(row_ptr + column, mask=(eighth < eighth_width) & fits, other=0.0).to(tl.float32)
            x8, x9 = tl.split(tl.load(row_ptr + beyond, mask=(eighth + 1 < eighth_width) & fits, other=0.0).to(tl.float32))
        else:
            row_ptr = x_ptr + row * width
            a = tl.load(row_ptr + column, mask=(column < width) & fits, other=0.0).to(tl.float32)
            x8, x9 = tl.split(tl.load(row_ptr + beyond, mask=(beyond < width) & fits, other=0.0).to(tl.float32))
        x0, x1, x2, x3, x4, x5, x6, x7 = columns_of_eight(a, EIGHTS)
        b = eight_columns(x1, x2, x3, x4, x5, x6, x7, x8, EIGHTS)
        c = eight_columns(x2, x3, x4, x5, x6, x7, x8, x9, EIGHTS)
        done = older + a * w20 + b * w21 + c * w22
        to_ptr = out_ptr + (plane * out_height + first + step - 2) * out_width + column
        tl.store(to_ptr, done.to(out_ptr.dtype.element_ty), mask=(column < out_width) & fits & (step >= 2))
        older = newer + a * w10 + b * w11 + c * w12
        newer = a * w00 + b * w01 + c * w02


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    ROWS = 8
    EIGHTS = triton.next_power_of_2(triton.cdiv(out_width, 8))
    grid = (triton.cdiv(out_height, ROWS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width, width // 8,
        ALIGNED=width % 8 == 0, ROWS=ROWS, EIGHTS=EIGHTS, num_warps=2, num_stages=3,
    )  # fmt: skip
    return out
