"""Depthwise convolution, one program per strip of rows of one channel, marching down it.

Idea: a lane owns a pair of neighbouring outputs. Of each row of x it loads its own pair and the next one, which hold
all that the 3 taps of a row need, adds them to the three output rows that they belong to, and never loads the row
again. UNROLL rows are loaded before the first is used, so that enough bytes are under way.
Must move: x once and out once (nearly 2 * batch * channels * height * width elements); 2 FLOP per tap and output.
Serves: 3x3 filters.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_row(left, right, a, b, c, d, w0, w1, w2):
    """One filter row added to two neighbouring outputs: inputs a b c to the left one, b c d to the right one."""
    return left + a * w0 + b * w1 + c * w2, right + b * w0 + c * w1 + d * w2


@triton.jit(do_not_specialize=["row_pairs", "out_row_pairs"])
def depthwise_conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, channels, height, width, out_height, out_width, row_pairs, out_row_pairs, strips,
    EVEN: tl.constexpr, UNROLL: tl.constexpr, STRIP_BLOCKS: tl.constexpr, BLOCK_PAIRS: tl.constexpr,
    FULL: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) % strips * (UNROLL * STRIP_BLOCKS)  # the strip's first output row
    pair = tl.program_id(1) * BLOCK_PAIRS + tl.arange(0, BLOCK_PAIRS)[:, None]
    column = 2 * pair + tl.arange(0, 2)[None, :]
    plane = (tl.program_id(0) // strips).to(tl.int64)  # image * channels + channel
    # Where rows hold a whole number of pairs, offsets are written as twice something: 4-byte accesses.
    if EVEN:
        x_row = x_ptr + 2 * (plane * height + first) * row_pairs
        out_row = out_ptr + 2 * (plane * out_height + first) * out_row_pairs
        stored = pair < out_row_pairs
        here = pair < row_pairs
        there = pair + 1 < row_pairs
    else:
        x_row = x_ptr + (plane * height + first) * width
        out_row = out_ptr + (plane * out_height + first) * out_width
        stored = column < out_width
        here = column < width
        there = column + 2 < width
    x_row += column
    out_row += column

    weight_channel = weight_ptr + plane % channels * 9
    w00 = tl.load(weight_channel).to(tl.float32)
    w01 = tl.load(weight_channel + 1).to(tl.float32)
    w02 = tl.load(weight_channel + 2).to(tl.float32)
    w10 = tl.load(weight_channel + 3).to(tl.float32)
    w11 = tl.load(weight_channel + 4).to(tl.float32)
    w12 = tl.load(weight_channel + 5).to(tl.float32)
    w20 = tl.load(weight_channel + 6).to(tl.float32)
    w21 = tl.load(weight_channel + 7).to(tl.float32)
    w22 = tl.load(weight_channel + 8).to(tl.float32)

    # Outputs whose first rows have been added: `one` lacks two rows, `two` lacks one.
    zero = tl.zeros((BLOCK_PAIRS,), tl.float32)
    one_l, one_r, two_l, two_r = zero, zero, zero, zero
    for ahead in tl.static_range(2):
        a, b = tl.split(tl.load(x_row, mask=here, other=0.0).to(tl.float32))
        c, d = tl.split(tl.load(x_row + 2, mask=there, other=0.0).to(tl.float32))
        if ahead == 1:
            two_l, two_r = add_row(one_l, one_r, a, b, c, d, w10, w11, w12)
        one_l, one_r = add_row(zero, zero, a, b, c, d, w00, w01, w02)
        x_row += 2 * row_pairs if EVEN else width

    for block in range(STRIP_BLOCKS):
        left = ()
        right = ()
        for step in tl.static_range(UNROLL):
            row = first + block * UNROLL + step
            inside = True if FULL else row < out_height
            left += (tl.load(x_row, mask=here & inside, other=0.0),)
            right += (tl.load(x_row + 2, mask=there & inside, other=0.0),)
            x_row += 2 * row_pairs if EVEN else width
        for step in tl.static_range(UNROLL):
            a, b = tl.split(left[step].to(tl.float32))
            c, d = tl.split(right[step].to(tl.float32))
            done = tl.join(*add_row(two_l, two_r, a, b, c, d, w20, w21, w22))
            row = first + block * UNROLL + step
            inside = True if FULL else row < out_height
            tl.store(out_row, done.to(out_ptr.dtype.element_ty), mask=stored & inside)
            two_l, two_r = add_row(one_l, one_r, a, b, c, d, w10, w11, w12)
            one_l, one_r = add_row(zero, zero, a, b, c, d, w00, w01, w02)
            out_row += 2 * out_row_pairs if EVEN else out_width


UNROLL = 5
STRIP_BLOCKS = 3
MAX_BLOCK_PAIRS = 256
WARPS = 4


def kernel_function(x, conv_weight):
    x = x.contiguous()
    conv_weight = conv_weight.contiguous()
    batch, channels, height, width = x.shape
    out_height = height - 2
    out_width = width - 2
    out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
    strips = triton.cdiv(out_height, UNROLL * STRIP_BLOCKS)
    block_pairs = min(triton.next_power_of_2(triton.cdiv(out_width, 2)), MAX_BLOCK_PAIRS)
    grid = (strips * batch * channels, triton.cdiv(triton.cdiv(out_width, 2), block_pairs))
    depthwise_conv2d_kernel[grid](
        x, conv_weight, out, channels, height, width, out_height, out_width, width // 2, out_width // 2, strips,
        EVEN=width % 2 == 0, UNROLL=UNROLL, STRIP_BLOCKS=STRIP_BLOCKS, BLOCK_PAIRS=block_pairs,
        FULL=out_height % (UNROLL * STRIP_BLOCKS) == 0, num_warps=WARPS,
    )  # fmt: skip
    return out
