# max_pool2d, trial 8, round 2: tune of 6, by builtin
# passed: 1.146 ms in the search
# confirmation passed: 1.157 ms
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_ROWS=4, max_pool2d.num_warps=4

"""Max-pooling of 4 x 4 windows with stride 1: whole rows, 16 bytes a lane, columns exchanged between lanes.

Idea: a load that is shifted by one column is not aligned, so it moves 4 bytes a lane and touches two lines of the
cache. Here a tile of output rows takes its four input rows whole and aligned, 16 bytes a lane, and the maximum down the
columns comes first. Four neighbouring columns lie in one lane; a window needs one column of the lane before and two of
the lane after. The rows of a tile are read up to four times, which L1 and L2 serve.
Must move: x nearly once and out once (planes * (height * width + outputs) elements).
Serves: kernel 4, stride 1, padding 1, dilation 1.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def larger(x, y):
    return tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def input_rows(x_plane, row, column, height, width):
    inside = ((row >= 0) & (row < height))[:, None] & (column < width)[None, :]
    return tl.load(x_plane + row[:, None] * width + column[None, :], mask=inside, other=float("-inf"))


@triton.jit
def across(x, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """The maxima of columns c - 1 to c + 2 for every column c of x: (ROWS, WIDTH)."""
    QUARTERS: tl.constexpr = WIDTH // 4
    even, odd = tl.split(tl.reshape(x, (ROWS, QUARTERS, 2, 2)))
    x0, x2 = tl.split(even)
    x1, x3 = tl.split(odd)
    quarter = tl.broadcast_to(tl.arange(0, QUARTERS)[None, :], (ROWS, QUARTERS))
    before = tl.where(quarter > 0, tl.gather(x3, tl.maximum(quarter - 1, 0), 1), float("-inf"))
    after = tl.minimum(quarter + 1, QUARTERS - 1)
    is_last = quarter == QUARTERS - 1
    x4 = tl.where(is_last, float("-inf"), tl.gather(x0, after, 1))
    x45 = larger(x4, tl.where(is_last, float("-inf"), tl.gather(x1, after, 1)))
    x12 = larger(x1, x2)
    x23 = larger(x2, x3)
    out0 = larger(larger(before, x0), x12)
    out1 = larger(larger(x0, x1), x23)
    out2 = larger(larger(x12, x3), x4)
    out3 = larger(x23, x45)
    return tl.reshape(tl.join(tl.join(out0, out2), tl.join(out1, out3)), (ROWS, WIDTH))


@triton.jit
def max_pool2d(
    x_ptr, out_ptr, height, width, out_height, out_width, tiles, BLOCK_ROWS: tl.constexpr, WIDTH: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0) % tiles * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    plane = (tl.program_id(0) // tiles).to(tl.int64)
    column = tl.arange(0, WIDTH)
    x_plane = x_ptr + plane * height * width
    first = input_rows(x_plane, row - 1, column, height, width)
    second = input_rows(x_plane, row, column, height, width)
    third = input_rows(x_plane, row + 1, column, height, width)
    fourth = input_rows(x_plane, row + 2, column, height, width)
    out = across(larger(larger(first, second), larger(third, fourth)), BLOCK_ROWS, WIDTH)
    out_plane = out_ptr + plane * out_height * out_width
    stored = (row < out_height)[:, None] & (column < out_width)[None, :]
    tl.store(out_plane + row[:, None] * out_width + column[None, :], out, mask=stored)


BLOCK_ROWS = 4


class ModelNew(torch.nn.Module):
    def __init__(self, kernel_size, stride, padding, dilation):
        super().__init__()
        if (kernel_size, stride, padding, dilation) != (4, 1, 1, 1):
            raise ValueError("serves only kernel size 4, stride 1, padding 1 and dilation 1")

    def forward(self, x):
        x = x.contiguous()
        batch, channels, height, width = x.shape
        out_height, out_width = height - 1, width - 1
        out = torch.empty((batch, channels, out_height, out_width), dtype=x.dtype, device=x.device)
        tiles = triton.cdiv(out_height, BLOCK_ROWS)
        max_pool2d[(tiles * batch * channels,)](
            x, out, height, width, out_height, out_width, tiles,
            BLOCK_ROWS=BLOCK_ROWS, WIDTH=max(triton.next_power_of_2(width), 16), num_warps=4,
        )  # fmt: skip
        return out
