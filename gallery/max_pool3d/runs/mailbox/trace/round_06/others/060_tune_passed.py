# max_pool3d, trial 60, round 6: tune of 56, by builtin
# passed: 576.8 µs in the search
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_ROWS=16, STEPS_PER_PROGRAM=64, WARPS=4, max_pool3d_kernel.num_stages=4

"""Max-pooling in three dimensions, one program per tile of BLOCK_ROWS output rows of one channel, marching in depth.

Idea: the window is separable, so its 27 maxima become 2 + 2 + 2. With stride 2, padding 1 and dilation 3, output o
takes the inputs 2o - 1, 2o + 2 and 2o + 5 of each dimension: one even index and two odd ones, and of the odd indices
each serves output o and output o + 3. So the maxima over height and width-wide rows of three odd planes wait in
registers, and each step down the depth loads only one even and one odd plane. Rows are loaded whole and wide; the
maximum along the width comes last, when a quarter of the rows is left, by shuffles between neighbours. A maximum is
exact in any dtype, so values stay in the one they come in. The planes of the next step are loaded before this one is
finished. A lane stores its outputs as it has them, without an exchange.
Must move: x nearly once and out once (batch * channels * (depth*height*width + outputs) elements).
Serves: kernel 3, stride 2, padding 1, dilation 3.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL).to(x.dtype)


@triton.jit
def plane_rows(x_plane, first, second, third, column, width, FULL_WIDTH: tl.constexpr):
    """The three input rows of every output row, at every column; -inf beyond the width."""
    inside = None if FULL_WIDTH else (column < width)[None, :]
    other = None if FULL_WIDTH else float("-inf")
    x = tl.load(x_plane + first[:, None] * width + column[None, :], mask=inside, other=other)
    y = tl.load(x_plane + second[:, None] * width + column[None, :], mask=inside, other=other)
    z = tl.load(x_plane + third[:, None] * width + column[None, :], mask=inside, other=other)
    return x, y, z


@triton.jit
def largest_of(x, y, z):
    return larger(larger(x, y), z)


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
    x_ptr, out_ptr, depth, height, width, out_depth, out_height, out_width: tl.constexpr, chunks, row_tiles,
    STEPS_PER_PROGRAM: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK_WIDTH: tl.constexpr, FULL_WIDTH: tl.constexpr,
):  # fmt: skip
    EIGHTS: tl.constexpr = BLOCK_WIDTH // 8
    tile = tl.program_id(0) % row_tiles
    chunk = tl.program_id(0) // row_tiles % chunks
    channel = (tl.program_id(0) // row_tiles // chunks).to(tl.int64)
    row = tile * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    column = tl.arange(0, BLOCK_WIDTH)
    eighth = tl.broadcast_to(tl.arange(0, EIGHTS)[None, :], (BLOCK_ROWS, EIGHTS))
    before = tl.maximum(eighth - 1, 0)
    after = tl.minimum(eighth + 1, EIGHTS - 1)
    # What lies outside is replaced by another element of the same window, which changes no maximum and needs no mask.
    second = tl.minimum(2 * row + 2, height - 1)
    first = tl.where(row > 0, second - 3, second)
    third = tl.where(2 * row + 5 < height, second + 3, second)
    start = chunk * STEPS_PER_PROGRAM  # output plane
    plane = height * width
    x_plane = x_ptr + (channel * depth + 2 * start + 2) * plane  # the even plane of the window
    outside = tl.where(start > 0, -3 * plane, 0)
    oldest = largest_of(*plane_rows(x_plane + outside, first, second, third, column, width, FULL_WIDTH))
    # The odd planes of the two windows that follow; where there are none, no output will ask for them.
    outside = tl.where(2 * start + 1 < depth, -plane, 0)
    older = largest_of(*plane_rows(x_plane + outside, first, second, third, column, width, FULL_WIDTH))
    outside = tl.where(2 * start + 3 < depth, plane, 0)
    old = largest_of(*plane_rows(x_plane + outside, first, second, third, column, width, FULL_WIDTH))
    even1, even2, even3 = plane_rows(x_plane, first, second, third, column, width, FULL_WIDTH)
    outside = tl.where(2 * start + 5 < depth, 3 * plane, 0)
    odd1, odd2, odd3 = plane_rows(x_plane + outside, first, second, third, column, width, FULL_WIDTH)

    # Two of the four outputs of a lane, the other two lie two further: (EIGHTS, BLOCK_ROWS, 2), in this order because
    # the compiler gives neighbouring lanes to the first of two dimensions that are not contiguous.
    out_column = 4 * tl.arange(0, EIGHTS)[:, None, None] + tl.arange(0, 2)[None, None, :]
    out_plane = out_ptr + (channel * out_depth + start) * out_height * out_width
    out_tile = out_plane + row[None, :, None] * out_width + out_column
    stored01 = (row < out_height)[None, :, None] & (out_column < out_width)
    stored23 = (row < out_height)[None, :, None] & (out_column + 2 < out_width)
    for o in range(start, tl.minimum(start + STEPS_PER_PROGRAM, out_depth)):
        even = largest_of(even1, even2, even3)
        odd = largest_of(odd1, odd2, odd3)
        # The planes of the next step, under way while this one is finished.
        x_plane += tl.where(2 * o + 4 < depth, 2 * plane, 0)
        even1, even2, even3 = plane_rows(x_plane, first, second, third, column, width, FULL_WIDTH)
        outside = tl.where(2 * o + 7 < depth, 3 * plane, 0)
        odd1, odd2, odd3 = plane_rows(x_plane + outside, first, second, third, column, width, FULL_WIDTH)
        x = larger(larger(oldest, even), odd)
        oldest, older, old = older, old, odd

        x0, x1, x2, x3, x4, x5, x6, x7 = columns_of_eight(x, BLOCK_ROWS, EIGHTS)
        minus1 = tl.where(eighth > 0, tl.gather(x7, before, 1), float("-inf"))
        x8 = tl.where(eighth < EIGHTS - 1, tl.gather(x0, after, 1), float("-inf"))
        x9 = tl.where(eighth < EIGHTS - 1, tl.gather(x1, after, 1), float("-inf"))
        x11 = tl.where(eighth < EIGHTS - 1, tl.gather(x3, after, 1), float("-inf"))
        out0 = larger(larger(minus1, x2), x5)
        out1 = larger(larger(x1, x4), x7)
        out2 = larger(larger(x3, x6), x9)
        out3 = larger(larger(x5, x8), x11)
        out01 = tl.permute(tl.join(out0, out1), (1, 0, 2))
        out23 = tl.permute(tl.join(out2, out3), (1, 0, 2))
        tl.store(out_tile, out01.to(out_ptr.dtype.element_ty), mask=stored01)
        tl.store(out_tile + 2, out23.to(out_ptr.dtype.element_ty), mask=stored23)
        out_tile += out_height * out_width


BLOCK_ROWS = 16
STEPS_PER_PROGRAM = 64
WARPS = 4


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
        block_width = max(triton.next_power_of_2(width), 16)
        row_tiles = triton.cdiv(out_height, BLOCK_ROWS)
        chunks = triton.cdiv(out_depth, STEPS_PER_PROGRAM)
        max_pool3d_kernel[(row_tiles * chunks * batch * channels,)](
            x, out, depth, height, width, out_depth, out_height, out_width, chunks, row_tiles,
            STEPS_PER_PROGRAM=STEPS_PER_PROGRAM, BLOCK_ROWS=BLOCK_ROWS, BLOCK_WIDTH=block_width,
            FULL_WIDTH=block_width == width, num_warps=WARPS, num_stages=4,
        )  # fmt: skip
        return out
