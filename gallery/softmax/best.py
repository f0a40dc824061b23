# softmax, trial 26, round 7: improve of 8, by builtin
# passed: 35.58 µs in the search
# confirmation passed: 35.56 µs
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_ROWS=4, MAX_BLOCK_COLS=2048, softmax_kernel.num_stages=3, softmax_kernel.num_warps=4

"""Softmax, a few whole rows per program.

Idea: walk the rows three times in blocks: their maxima, then the sums of exponentials, then the quotients. Only the
first pass must come from DRAM where the rows fit in cache.
Must move: 2 * rows * cols elements (x once, out once); about 5 FLOP per element, which is never the limit.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, rows, cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    lanes = tl.arange(0, BLOCK_COLS)[None, :]
    start_of_row = row.to(tl.int64) * cols

    # Lanes outside the matrix read -inf, which changes no maximum and adds exp(-inf) = 0 to a sum.
    largest = tl.full((BLOCK_ROWS, BLOCK_COLS), float("-inf"), tl.float32)
    for start in range(0, cols, BLOCK_COLS):
        inside = (row < rows) & (start + lanes < cols)
        x = tl.load(x_ptr + start_of_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, x)
    row_max = tl.max(largest, axis=1)[:, None]
    row_max = tl.where(row < rows, row_max, 0.0)  # rows past the end: -inf minus -inf would be NaN

    total = tl.zeros((BLOCK_ROWS, BLOCK_COLS), tl.float32)
    for start in range(0, cols, BLOCK_COLS):
        inside = (row < rows) & (start + lanes < cols)
        x = tl.load(x_ptr + start_of_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        total += tl.exp(x - row_max)
    row_sum = tl.sum(total, axis=1)[:, None]

    for start in range(0, cols, BLOCK_COLS):
        inside = (row < rows) & (start + lanes < cols)
        x = tl.load(x_ptr + start_of_row + start + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + start_of_row + start + lanes, tl.exp(x - row_max) / row_sum, mask=inside)


BLOCK_ROWS = 4
MAX_BLOCK_COLS = 2048


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    out = torch.empty_like(x)
    block_cols = min(triton.next_power_of_2(cols), MAX_BLOCK_COLS)
    grid = (triton.cdiv(rows, BLOCK_ROWS),)
    softmax_kernel[grid](x, out, rows, cols, BLOCK_ROWS=BLOCK_ROWS, BLOCK_COLS=block_cols, num_warps=4)
    return out
