# average_pool2d, trial 3, round 1: improve of 2, by mailbox:assistant
# passed: 4.137 ms in the search
# confirmation passed: 4.138 ms
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""Averages of 11 x 11 windows that do not overlap, in one kernel that reads x once and in order.

Idea: `torch.compile` averages along one side after the other, and writes the sums in between to memory. Here sixteen
lanes have the eleven columns of a window, and neighbouring windows are neighbours in memory, so that all that is
loaded is used. The rows of a window are added up lane by lane, and the lanes last.
Must move: x once, and out once.
Serves: windows of 11 x 11 with the same stride, no padding.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def average_windows(
    x_ptr, out_ptr, height, width, out_height, out_width, SIDE: tl.constexpr, LANES: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    parts = tl.cdiv(out_width, BLOCK)
    window = tl.program_id(0) % parts * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0) // parts  # of all planes' outputs
    plane = (row // out_height).to(tl.int64)
    column = tl.arange(0, LANES)
    inside = (window < out_width)[:, None] & (column < SIDE)[None, :]
    x_window = x_ptr + plane * height * width + row % out_height * SIDE * width + window[:, None] * SIDE + column[None, :]
    total = tl.zeros([BLOCK, LANES], dtype=tl.float32)
    for step in tl.static_range(0, SIDE):
        total += tl.load(x_window + step * width, mask=inside, other=0.0, eviction_policy="evict_first")
    out_row = out_ptr + row.to(tl.int64) * out_width
    tl.store(out_row + window, tl.sum(total, 1) / (SIDE * SIDE), mask=window < out_width)


SIDE = 11
BLOCK = 64
NUM_WARPS = 4


def kernel_function(x):
    x = x.contiguous()
    samples, channels, height, width = x.shape
    out_height = height // SIDE
    out_width = width // SIDE
    out = torch.empty((samples, channels, out_height, out_width), device=x.device, dtype=x.dtype)
    programs = samples * channels * out_height * triton.cdiv(out_width, BLOCK)
    average_windows[(programs,)](
        x, out, height, width, out_height, out_width, SIDE=SIDE, LANES=triton.next_power_of_2(SIDE), BLOCK=BLOCK,
        num_warps=NUM_WARPS,
    )
    return out
