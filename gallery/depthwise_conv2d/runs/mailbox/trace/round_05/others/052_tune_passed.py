# depthwise_conv2d, trial 52, round 5: tune of 46, by builtin
# passed: 705.3 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCKS=8, depthwise_conv2d_kernel.num_stages=1, depthwise_conv2d_kernel.num_warps=2

"""Depthwise convolution, one program per strip of output rows of one channel; a lane owns fours of outputs.

Idea: a lane loads its own four of each row and the pair that follows, which hold all that three taps need of four
outputs: 12 bytes in two loads for four outputs, where pairs take 16 in four. The two output rows that lack a row of x
wait in registers. The strip is AHEAD * BLOCKS rows long, AHEAD of them loaded before the first is used.
Must move: x once and out once; the strips read two rows twice.
Serves: 3x3 filters, stride 1, no padding; rows whose length is no multiple of four take a slower way.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width, quarter_width, half_out,
    WHOLE: tl.constexpr, AHEAD: tl.constexpr, BLOCKS: tl.constexpr, FOURS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1).to(tl.int64)  # image * channels + channel
    first = tl.program_id(0) * (AHEAD * BLOCKS)
    four = tl.arange(0, FOURS)
    pair = tl.arange(0, 2)
    own = 4 * four[:, None, None] + 2 * pair[None, :, None] + pair[None, None, :]  # (FOURS, 2, 2)
    follow = 4 * four[:, None] + 4 + pair[None, :]  # (FOURS, 2)
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

    if WHOLE:  # four times a number: the compiler sees that a four is aligned
        here = (four < quarter_width)[:, None, None]
        after = (four + 1 < quarter_width)[:, None]
    else:
        here = own < width
        after = follow < width
    stored = own < out_width
    zero = tl.zeros((FOURS,), tl.float32)
    older0, older1, older2, older3 = zero, zero, zero, zero
    newer0, newer1, newer2, newer3 = zero, zero, zero, zero
    for step in tl.static_range(2):
        x_row = plane * height + first + step
        row_ptr = x_ptr + (4 * (x_row * quarter_width) if WHOLE else x_row * width)
        even, odd = tl.split(tl.load(row_ptr + own, mask=here, other=0.0).to(tl.float32))
        a, c = tl.split(even)
        b, d = tl.split(odd)
        e, f = tl.split(tl.load(row_ptr + follow, mask=after, other=0.0).to(tl.float32))
        older0 = newer0 + a * w10 + b * w11 + c * w12
        older1 = newer1 + b * w10 + c * w11 + d * w12
        older2 = newer2 + c * w10 + d * w11 + e * w12
        older3 = newer3 + d * w10 + e * w11 + f * w12
        newer0 = a * w00 + b * w01 + c * w02
        newer1 = b * w00 + c * w01 + d * w02
        newer2 = c * w00 + d * w01 + e * w02
        newer3 = d * w00 + e * w01 + f * w02

    for block in range(BLOCKS):
        mine = ()
        theirs = ()
        for step in tl.static_range(AHEAD):
            inside = first + 2 + block * AHEAD + step < height
            x_row = plane * height + first + 2 + block * AHEAD + step
            row_ptr = x_ptr + (4 * (x_row * quarter_width) if WHOLE else x_row * width)
            mine += (tl.load(row_ptr + own, mask=here & inside, other=0.0),)
            theirs += (tl.load(row_ptr + follow, mask=after & inside, other=0.0),)
        for step in tl.static_range(AHEAD):
            even, odd = tl.split(mine[step].to(tl.float32))
            a, c = tl.split(even)
            b, d = tl.split(odd)
            e, f = tl.split(theirs[step].to(tl.float32))
            done0 = older0 + a * w20 + b * w21 + c * w22
            done1 = older1 + b * w20 + c * w21 + d * w22
            done2 = older2 + c * w20 + d * w21 + e * w22
            done3 = older3 + d * w20 + e * w21 + f * w22
            done = tl.join(tl.join(done0, done2), tl.join(done1, done3))  # (FOURS, 2, 2)
            row = first + block * AHEAD + step
            out_row = plane * out_height + row
            to_ptr = out_ptr + (2 * (out_row * half_out) if WHOLE else out_row * out_width)
            tl.store(to_ptr + own, done.to(out_ptr.dtype.element_ty), mask=stored & (row < out_height))
            older0 = newer0 + a * w10 + b * w11 + c * w12
            older1 = newer1 + b * w10 + c * w11 + d * w12
            older2 = newer2 + c * w10 + d * w11 + e * w12
            older3 = newer3 + d * w10 + e * w11 + f * w12
            newer0 = a * w00 + b * w01 + c * w02
            newer1 = b * w00 + c * w01 + d * w02
            newer2 = c * w00 + d * w01 + e * w02
            newer3 = d * w00 + e * w01 + f * w02


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    AHEAD = 4
    BLOCKS = 8
    FOURS = triton.next_power_of_2(triton.cdiv(width, 4))
    grid = (triton.cdiv(out_height, AHEAD * BLOCKS), batch * channels)
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width, width // 4, out_width // 2,
        WHOLE=width % 4 == 0, AHEAD=AHEAD, BLOCKS=BLOCKS, FOURS=FOURS, num_warps=2, num_stages=1,
    )  # fmt: skip
    return out
