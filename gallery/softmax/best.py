"""Softmax, each row read from DRAM once: whole rows in registers, long rows twice from cache, few long rows in parts.

Idea: a row that fits a program's registers is loaded, reduced and written in one go, several short rows together. A
longer row is read twice, first for its maximum and its sum at once, then, out of L2, to be written; where there are too
few such rows to fill the GPU, programs share a row: each leaves the maximum and the sum of its part, and a second
kernel combines these and writes.
Must move: 2 * rows * cols elements (x once, out once); about 5 FLOP per element, which is never the limit.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, out_ptr, rows, cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr, FULL: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    column = tl.arange(0, BLOCK_COLS)[None, :]
    inside = (row < rows) if FULL else (row < rows) & (column < cols)
    # Lanes outside read -inf, which changes no maximum and adds exp(-inf) = 0 to a sum.
    x = tl.load(x_ptr + row * cols + column, mask=inside, other=float("-inf")).to(tl.float32)
    row_max = tl.where(row < rows, tl.max(x, axis=1)[:, None], 0.0)  # rows past the end: -inf minus -inf would be NaN
    x = tl.exp(x - row_max)
    scale = 1.0 / tl.sum(x, axis=1)[:, None]
    tl.store(out_ptr + row * cols + column, (x * scale).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def maximum_and_sum(x_row, start, end, BLOCK_COLS: tl.constexpr):
    """The maximum of a stretch of a row, and the sum of exp(x - maximum); both kept per lane until the end."""
    lanes = tl.arange(0, BLOCK_COLS)
    largest = tl.full((BLOCK_COLS,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_COLS,), tl.float32)
    for column in range(start, end, BLOCK_COLS):
        inside = column + lanes < end
        x = tl.load(x_row + column + lanes, mask=inside, other=float("-inf")).to(tl.float32)
        larger = tl.maximum(largest, x)
        # A lane that has seen only -inf keeps a total of 0.
        seen = tl.where(larger == float("-inf"), 0.0, larger)
        total = total * tl.exp(largest - seen) + tl.exp(x - seen)
        largest = larger
    stretch_max = tl.max(largest)
    return stretch_max, tl.sum(total * tl.exp(largest - stretch_max))


@triton.jit
def long_row_kernel(x_ptr, out_ptr, cols, BLOCK_COLS: tl.constexpr):
    offset = tl.program_id(0).to(tl.int64) * cols
    row_max, total = maximum_and_sum(x_ptr + offset, 0, cols, BLOCK_COLS)
    scale = 1.0 / total
    lanes = tl.arange(0, BLOCK_COLS)
    blocks = tl.cdiv(cols, BLOCK_COLS)
    for block in range(blocks):
        column = (blocks - 1 - block) * BLOCK_COLS + lanes  # backwards: what was read last is nearest
        x = tl.load(x_ptr + offset + column, mask=column < cols, other=0.0).to(tl.float32)
        tl.store(
            out_ptr + offset + column, (tl.exp(x - row_max) * scale).to(out_ptr.dtype.element_ty), mask=column < cols
        )


@triton.jit
def part_kernel(x_ptr, max_ptr, sum_ptr, cols, parts, PART_BLOCK: tl.constexpr, BLOCK_COLS: tl.constexpr):
    row = tl.program_id(0) // parts
    part = tl.program_id(0) % parts
    start = part * PART_BLOCK
    stretch_max, total = maximum_and_sum(
        x_ptr + row.to(tl.int64) * cols, start, tl.minimum(start + PART_BLOCK, cols), BLOCK_COLS
    )
    tl.store(max_ptr + tl.program_id(0), stretch_max)
    tl.store(sum_ptr + tl.program_id(0), total)


@triton.jit
def write_kernel(
    x_ptr, max_ptr, sum_ptr, out_ptr, cols, parts, pieces, BLOCK_PARTS: tl.constexpr, BLOCK_COLS: tl.constexpr
):  # fmt: skip
    backwards = tl.num_programs(0) - 1 - tl.program_id(0)  # what was read last is still in L2
    row = backwards // pieces
    part = tl.arange(0, BLOCK_PARTS)
    column = backwards % pieces * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    offset = row.to(tl.int64) * cols + column
    x = tl.load(x_ptr + offset, mask=column < cols, other=0.0).to(tl.float32)
    maxima = tl.load(max_ptr + row * parts + part, mask=part < parts, other=float("-inf"))
    sums = tl.load(sum_ptr + row * parts + part, mask=part < parts, other=0.0)
    row_max = tl.max(maxima)
    scale = 1.0 / tl.sum(sums * tl.exp(maxima - row_max))
    tl.store(out_ptr + offset, (tl.exp(x - row_max) * scale).to(out_ptr.dtype.element_ty), mask=column < cols)


ONE_BLOCK = 16384
BLOCK_ELEMENTS = 1024
THREAD_BLOCK = 32
LONG_BLOCK = 8192
LONG_WARPS = 16
PART_BLOCK = 16384
PART_STEP_BLOCK = 4096
WRITE_BLOCK = 4096


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    out = torch.empty_like(x)
    block_cols = triton.next_power_of_2(cols)
    if block_cols <= ONE_BLOCK:
        block_rows = max(1, min(BLOCK_ELEMENTS // block_cols, triton.next_power_of_2(rows)))
        warps = max(1, min(block_rows * block_cols // (32 * THREAD_BLOCK), 32))
        rows_kernel[(triton.cdiv(rows, block_rows),)](
            x, out, rows, cols, BLOCK_ROWS=block_rows, BLOCK_COLS=block_cols, FULL=cols == block_cols, num_warps=warps
        )
    elif rows >= 256:
        long_row_kernel[(rows,)](x, out, cols, BLOCK_COLS=LONG_BLOCK, num_warps=LONG_WARPS)
    else:
        parts = triton.cdiv(cols, PART_BLOCK)
        maxima = torch.empty((rows, parts), dtype=torch.float32, device=x.device)
        sums = torch.empty((rows, parts), dtype=torch.float32, device=x.device)
        part_kernel[(rows * parts,)](
            x, maxima, sums, cols, parts, PART_BLOCK=PART_BLOCK, BLOCK_COLS=PART_STEP_BLOCK, num_warps=8
        )
        pieces = triton.cdiv(cols, WRITE_BLOCK)
        write_kernel[(rows * pieces,)](
            x, maxima, sums, out, cols, parts, pieces,
            BLOCK_PARTS=triton.next_power_of_2(parts), BLOCK_COLS=WRITE_BLOCK, num_warps=8,
        )  # fmt: skip
    return out
