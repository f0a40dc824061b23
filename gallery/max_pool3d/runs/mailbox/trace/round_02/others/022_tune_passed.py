# max_pool3d, trial 22, round 2: tune of 16, by builtin
# passed: 578.4 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_PLANES=16, STEPS_PER_PROGRAM=32, max_pool3d_kernel.num_stages=3, max_pool3d_kernel.num_warps=4

"""Max-pooling in three dimensions, one program per BLOCK_PLANES output planes of one channel, marching in height.

Idea: what holds for planes holds for rows: output row r takes the input rows 2r - 1, 2r + 2 and 2r + 5, and an odd
row serves output rows r and r + 3. A program marches down the rows of several output planes at once; the maxima over
depth of three odd rows, at every column, wait in registers, and a step loads one even and one odd row of three
planes. Whole rows, 16 bytes a lane; the maximum along the width comes last, by shuffles. Against a march in depth no
row is loaded twice at the ends of a tile, but a plane is read by two output planes.
Must move: x nearly once and out once (batch * channels * (depth*height*width + outputs) elements).
Serves: kernel 3, stride 2, padding 1, dilation 3.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def columns_of_eight(x, ROWS: tl.constexpr, EIGHTS: tl.constexpr):
    """The eight tensors (ROWS, EIGHTS) that hold every eighth column of x: (ROWS, 8 * EIGHTS)."""
    even, odd = tl.split(tl.reshape(x, (ROWS, EIGHTS, 4, 2)))
    x04, x26 = tl.split(tl.reshape(even, (ROWS, EIGHTS, 2, 2)))
    x15, x37 = tl.split(tl.reshape(odd, (ROWS, EIGHTS, 2, 2)))
    x0, x4 = tl.split(x04)
    x2, x6 = tl.split(x26)
    x1, x5 = tl.split(x15)
    x3, x7 = tl.split(x37)
    return x0, x1, x2, x3, x4, x5, x6, x7


@triton.jit
def row_of_planes(x_channel, h, o, column, inside_row, depth, plane, width):
    """The maxima over depth of input row h for the output planes `o`, at every column; -inf outside."""
    d = 2 * o - 1
    wide = x_channel + h * width + d[:, None] * plane + column[None, :]
    fits = (column < width)[None, :] & inside_row
    top = tl.load(wide, mask=fits & ((d >= 0) & (d < depth))[:, None], other=float("-inf"))
    middle = tl.load(wide + 3 * plane, mask=fits & (d + 3 < depth)[:, None], other=float("-inf"))
    bottom = tl.load(wide + 6 * plane, mask=fits & (d + 6 < depth)[:, None], other=float("-inf"))
    return larger(larger(top.to(tl.float32), middle.to(tl.float32)), bottom.to(tl.float32))


@triton.jit
def max_pool3d_kernel(
    x_ptr, out_ptr, depth, height, width, out_depth, out_height, out_width: tl.constexpr,
    STEPS_PER_PROGRAM: tl.constexpr, BLOCK_PLANES: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    EIGHTS: tl.constexpr = BLOCK_WIDTH // 8
    o = tl.program_id(0) * BLOCK_PLANES + tl.arange(0, BLOCK_PLANES)  # output planes
    channel = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, BLOCK_WIDTH)
    eighth = tl.broadcast_to(tl.arange(0, EIGHTS)[None, :], (BLOCK_PLANES, EIGHTS))
    before = tl.maximum(eighth - 1, 0)
    after = tl.minimum(eighth + 1, EIGHTS - 1)
    plane = height * width
    x_channel = x_ptr + channel * depth * plane
    first = tl.program_id(2) * STEPS_PER_PROGRAM  # output row
    oldest = row_of_planes(x_channel, 2 * first - 1, o, column, first > 0, depth, plane, width)
    older = row_of_planes(x_channel, 2 * first + 1, o, column, 2 * first + 1 < height, depth, plane, width)
    old = row_of_planes(x_channel, 2 * first + 3, o, column, 2 * first + 3 < height, depth, plane, width)

    out_column = tl.arange(0, 4 * EIGHTS)[None, :]
    out_channel = out_ptr + channel * out_depth * out_height * out_width
    out_row = out_channel + o[:, None] * (out_height * out_width) + first * out_width + out_column
    stored = (o < out_depth)[:, None] & (out_column < out_width)
    for row in range(first, tl.minimum(first + STEPS_PER_PROGRAM, out_height)):
        even = row_of_planes(x_channel, 2 * row + 2, o, column, 2 * row + 2 < height, depth, plane, width)
        odd = row_of_planes(x_channel, 2 * row + 5, o, column, 2 * row + 5 < height, depth, plane, width)
        x = larger(larger(oldest, even), odd)
        oldest, older, old = older, old, odd

        x0, x1, x2, x3, x4, x5, x6, x7 = columns_of_eight(x, BLOCK_PLANES, EIGHTS)
        minus1 = tl.where(eighth > 0, tl.gather(x7, before, 1), float("-inf"))
        x8 = tl.where(eighth < EIGHTS - 1, tl.gather(x0, after, 1), float("-inf"))
        x9 = tl.where(eighth < EIGHTS - 1, tl.gather(x1, after, 1), float("-inf"))
        x11 = tl.where(eighth < EIGHTS - 1, tl.gather(x3, after, 1), float("-inf"))
        out0 = larger(larger(minus1, x2), x5)
        out1 = larger(larger(x1, x4), x7)
        out2 = larger(larger(x3, x6), x9)
        out3 = larger(larger(x5, x8), x11)
        out = tl.reshape(tl.join(tl.join(out0, out2), tl.join(out1, out3)), (BLOCK_PLANES, 4 * EIGHTS))
        tl.store(out_row, out.to(out_ptr.dtype.element_ty), mask=stored)
        out_row += out_width


class ModelNew(torch.nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        if (kernel_size, stride, padding, dilation) != (3, 2, 1, 3):
            raise ValueError("serves only kernel size 3, stride 2, padding 1 and dilation 3")

    def forward(self, x):
        x = x.contiguous()
        batch, channels, depth, height, width = x.shape
        out_depth, out_height, out_width = (depth - 5) // 2 + 1, (height - 5) // 2 + 1, (width - 5) // 2 + 1
        out = torch.empty((batch, channels, out_depth, out_height, out_width), dtype=x.dtype, device=x.device)
        BLOCK_PLANES = 16
        STEPS_PER_PROGRAM = 32
        block_width = max(triton.next_power_of_2(width), 16)
        grid = (triton.cdiv(out_depth, BLOCK_PLANES), batch * channels, triton.cdiv(out_height, STEPS_PER_PROGRAM))
        max_pool3d_kernel[grid](
            x, out, depth, height, width, out_depth, out_height, out_width,
            STEPS_PER_PROGRAM=STEPS_PER_PROGRAM, BLOCK_PLANES=BLOCK_PLANES, BLOCK_WIDTH=block_width, num_warps=4,
        )  # fmt: skip
        return out
