# max_pool3d, trial 9, round 1: tune of 7, by builtin
# passed: 640.0 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_ROWS=2, max_pool3d_kernel.num_stages=4, max_pool3d_kernel.num_warps=1

"""Max-pooling in three dimensions, one program per tile of BLOCK_ROWS output rows of one output plane; whole rows.

Idea: the maximum along the width is taken last. Before it, an output row needs nine input rows at every column, and
whole rows are contiguous: they are loaded 16 bytes a lane, nine loads for four outputs, instead of 27 loads of two
bytes with a gap between neighbours for each output. The maximum along the width is then made of eight columns a lane
and their neighbours, by shuffles.
Must move: x nearly once and out once (batch * channels * (depth*height*width + outputs) elements); caches absorb that
a row is read by up to four output rows.
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
def max_pool3d_kernel(
    x_ptr, out_ptr, depth, height, width, out_depth, out_height, out_width: tl.constexpr, row_tiles,
    BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    EIGHTS: tl.constexpr = BLOCK_WIDTH // 8
    row = tl.program_id(0) % row_tiles * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    o = tl.program_id(0) // row_tiles  # output plane
    channel = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, BLOCK_WIDTH)
    eighth = tl.broadcast_to(tl.arange(0, EIGHTS)[None, :], (BLOCK_ROWS, EIGHTS))
    before = tl.maximum(eighth - 1, 0)
    after = tl.minimum(eighth + 1, EIGHTS - 1)
    x_channel = x_ptr + channel * depth * height * width
    x = tl.full((BLOCK_ROWS, BLOCK_WIDTH), float("-inf"), tl.float32)
    for tap in tl.static_range(9):
        d = 2 * o - 1 + tap // 3 * 3
        h = 2 * row - 1 + tap % 3 * 3
        there = ((h >= 0) & (h < height) & (d >= 0) & (d < depth))[:, None] & (column < width)[None, :]
        one = tl.load(x_channel + (d * height + h)[:, None] * width + column[None, :], mask=there, other=float("-inf"))
        x = larger(x, one.to(tl.float32))

    x0, x1, x2, x3, x4, x5, x6, x7 = columns_of_eight(x, BLOCK_ROWS, EIGHTS)
    minus1 = tl.where(eighth > 0, tl.gather(x7, before, 1), float("-inf"))
    x8 = tl.where(eighth < EIGHTS - 1, tl.gather(x0, after, 1), float("-inf"))
    x9 = tl.where(eighth < EIGHTS - 1, tl.gather(x1, after, 1), float("-inf"))
    x11 = tl.where(eighth < EIGHTS - 1, tl.gather(x3, after, 1), float("-inf"))
    out0 = larger(larger(minus1, x2), x5)
    out1 = larger(larger(x1, x4), x7)
    out2 = larger(larger(x3, x6), x9)
    out3 = larger(larger(x5, x8), x11)
    out = tl.reshape(tl.join(tl.join(out0, out2), tl.join(out1, out3)), (BLOCK_ROWS, 4 * EIGHTS))
    out_plane = out_ptr + (channel * out_depth + o) * out_height * out_width
    out_column = tl.arange(0, 4 * EIGHTS)[None, :]
    stored = (row < out_height)[:, None] & (out_column < out_width)
    tl.store(out_plane + row[:, None] * out_width + out_column, out.to(out_ptr.dtype.element_ty), mask=stored)


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
        BLOCK_ROWS = 2
        block_width = max(triton.next_power_of_2(width), 16)
        row_tiles = triton.cdiv(out_height, BLOCK_ROWS)
        max_pool3d_kernel[(row_tiles * out_depth, batch * channels)](
            x, out, depth, height, width, out_depth, out_height, out_width, row_tiles,
            BLOCK_ROWS=BLOCK_ROWS, BLOCK_WIDTH=block_width, num_warps=1, num_stages=4,
        )  # fmt: skip
        return out
