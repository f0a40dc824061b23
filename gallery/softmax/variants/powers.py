"""Softmax as held.py in powers of two: a reference near a long row's maximum, and wide rows loaded one ahead.

Idea: exp scales around its exp2 for tiny results; with log2(e) folded into the subtraction an exponential is one FMA
and one exp2. A long row's rest is summed beside the maximum of the start that is held in registers, which is as precise
as its own as long as the sum does not overflow (then the row is walked again with its true maximum): no running
maximum and no correction. Where a program holds a whole wide row, it goes through several and asks for the next
before it waits for this one.
What decides: instructions per value (in the loops of long rows in bfloat16 6.3 and 7.4; held.py has 18.4 and 11.1).
Must move: 2 * rows * cols elements (x once, out once); about 5 FLOP per element, which is never the limit.
"""

import torch
import triton
import triton.language as tl

LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)


@triton.jit
def rows_kernel(x_ptr, out_ptr, rows, cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr, FULL: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)[:, None]
    column = tl.arange(0, BLOCK_COLS)[None, :]
    inside = (row < rows) if FULL else (row < rows) & (column < cols)
    # Lanes outside read -inf, which changes no maximum and adds exp(-inf) = 0 to a sum.
    x = tl.load(x_ptr + row * cols + column, mask=inside, other=float("-inf")).to(tl.float32)
    row_max = tl.where(row < rows, tl.max(x, axis=1)[:, None], 0.0)  # rows past the end: -inf minus -inf would be NaN
    x = tl.exp2(x * LOG2E - row_max * LOG2E)
    scale = 1.0 / tl.sum(x, axis=1)[:, None]
    tl.store(out_ptr + row * cols + column, (x * scale).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def wide_rows_kernel(x_ptr, out_ptr, rows, cols, BLOCK_COLS: tl.constexpr, FULL: tl.constexpr):
    column = tl.arange(0, BLOCK_COLS)
    inside = FULL | (column < cols)
    offset = tl.program_id(0).to(tl.int64) * cols
    stride = tl.num_programs(0).to(tl.int64) * cols
    x = tl.load(x_ptr + offset + column, mask=inside, other=float("-inf"))
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        next_inside = (row + tl.num_programs(0) < rows) & inside
        following = tl.load(x_ptr + offset + stride + column, mask=next_inside, other=float("-inf"))
        x = x.to(tl.float32)
        x = tl.exp2(x * LOG2E - tl.max(x, axis=0) * LOG2E)
        out = x * (1.0 / tl.sum(x, axis=0))
        tl.store(out_ptr + offset + column, out.to(out_ptr.dtype.element_ty), mask=inside)
        x = following
        offset += stride


@triton.jit
def long_row_kernel(
    x_ptr, out_ptr, cols, HELD_BLOCK: tl.constexpr, UNROLL: tl.constexpr, BLOCK_COLS: tl.constexpr
):  # fmt: skip
    offset = tl.program_id(0).to(tl.int64) * cols
    start = tl.arange(0, HELD_BLOCK)
    held = tl.load(x_ptr + offset + start)  # the row is longer
    lanes = tl.arange(0, UNROLL)[:, None] * BLOCK_COLS + tl.arange(0, BLOCK_COLS)[None, :]
    STEP: tl.constexpr = UNROLL * BLOCK_COLS
    rest = x_ptr + offset + lanes

    x = tl.load(rest + HELD_BLOCK, mask=HELD_BLOCK + lanes < cols, other=float("-inf"))
    held = held.to(tl.float32)
    reference = tl.maximum(tl.max(held, axis=0), -1.0e38) * LOG2E  # finite: -inf minus -inf would be NaN
    total = tl.zeros((BLOCK_COLS,), tl.float32)
    for column in range(HELD_BLOCK, cols, STEP):
        after = column + STEP
        following = tl.load(rest + after, mask=after + lanes < cols, other=float("-inf"))
        total += tl.sum(tl.exp2(x.to(tl.float32) * LOG2E - reference), axis=0)
        x = following
    summed = tl.sum(tl.exp2(held * LOG2E - reference), axis=0) + tl.sum(total, axis=0)
    if (summed - summed != 0.0) | (summed > 1.0e37):  # inf, NaN, or too large to divide by: the reference was too low
        largest = tl.full((BLOCK_COLS,), -1.0e38, tl.float32)
        for column in range(HELD_BLOCK, cols, STEP):
            again = tl.load(rest + column, mask=column + lanes < cols, other=float("-inf")).to(tl.float32)
            largest = tl.maximum(largest, tl.max(again, axis=0))
        reference = tl.maximum(tl.max(held, axis=0), tl.max(largest, axis=0)) * LOG2E
        total = tl.zeros((BLOCK_COLS,), tl.float32)
        for column in range(HELD_BLOCK, cols, STEP):
            again = tl.load(rest + column, mask=column + lanes < cols, other=float("-inf")).to(tl.float32)
            total += tl.sum(tl.exp2(again * LOG2E - reference), axis=0)
        summed = tl.sum(tl.exp2(held * LOG2E - reference), axis=0) + tl.sum(total, axis=0)
    scale = 1.0 / summed
    held = tl.exp2(held * LOG2E - reference) * scale
    tl.store(out_ptr + offset + start, held.to(out_ptr.dtype.element_ty), eviction_policy="evict_first")
    for column in range(HELD_BLOCK, cols, STEP):
        inside = column + lanes < cols
        again = tl.load(rest + column, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
        out = tl.exp2(again * LOG2E - reference) * scale
        tl.store(out_ptr + offset + column + lanes, out.to(out_ptr.dtype.element_ty), mask=inside,
                 eviction_policy="evict_first")  # fmt: skip


@triton.jit
def part_kernel(x_ptr, max_ptr, sum_ptr, cols, parts, PART_BLOCK: tl.constexpr):
    row = (tl.program_id(0) // parts).to(tl.int64)
    column = tl.program_id(0) % parts * PART_BLOCK + tl.arange(0, PART_BLOCK)
    x = tl.load(x_ptr + row * cols + column, mask=column < cols, other=float("-inf")).to(tl.float32)
    part_max = tl.maximum(tl.max(x, axis=0), -1.0e38)  # finite: minus itself it is 0
    tl.store(max_ptr + tl.program_id(0), part_max)
    tl.store(sum_ptr + tl.program_id(0), tl.sum(tl.exp2(x * LOG2E - part_max * LOG2E), axis=0))


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
    scale = 1.0 / tl.sum(sums * tl.exp2((maxima - row_max) * LOG2E))
    tl.store(
        out_ptr + offset,
        (tl.exp2(x * LOG2E - row_max * LOG2E) * scale).to(out_ptr.dtype.element_ty),
        mask=column < cols,
    )


ONE_BLOCK = 32768
BLOCK_ELEMENTS = 1024
THREAD_BLOCK = 32
FEW_BLOCKS = 128
"""Rows fewer than this do not fill the GPU one by one."""
MANY_BLOCKS = 264
"""Rows from which two share a multiprocessor."""
PART_BLOCK = 8192
WRITE_BLOCK = 4096
WIDE = 16384
"""Columns from which a program with a whole row goes through several."""
WIDE_THREAD_BLOCK = 32
WIDE_PROGRAMS = 132
"""One to a multiprocessor of an H200: two rows take most of its registers."""
LONG_UNROLL = None
LONG_WARPS = None
"""Of long rows that are many; None: by the size of an element, and 16."""


# In plain integers: triton.cdiv and triton.next_power_of_2 take 2 us of the host each, as long as a short row's kernel.
def power_of_two_from(n):
    return 1 << (n - 1).bit_length()


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    out = torch.empty_like(x)
    block_cols = power_of_two_from(cols)
    if block_cols <= ONE_BLOCK and (rows >= FEW_BLOCKS or cols <= PART_BLOCK):
        block_rows = max(1, min(BLOCK_ELEMENTS // block_cols, power_of_two_from(rows)))
        warps = max(1, min(block_rows * block_cols // (32 * THREAD_BLOCK), 32))
        if block_cols >= WIDE and x.element_size() == 2:  # of four bytes, two rows do not fit in the registers
            warps = min(block_cols // (32 * WIDE_THREAD_BLOCK), 32)
            wide_rows_kernel[(min(rows, WIDE_PROGRAMS),)](
                x, out, rows, cols, BLOCK_COLS=block_cols, FULL=cols == block_cols, num_warps=warps
            )
        else:
            rows_kernel[(-(-rows // block_rows),)](
                x, out, rows, cols,
                BLOCK_ROWS=block_rows, BLOCK_COLS=block_cols, FULL=cols == block_cols, num_warps=warps,
            )  # fmt: skip
    elif block_cols > ONE_BLOCK and rows >= FEW_BLOCKS:
        many = rows >= MANY_BLOCKS
        unroll = LONG_UNROLL or (1 if many and x.element_size() == 2 else 2)
        long_row_kernel[(rows,)](
            x, out, cols, HELD_BLOCK=8192 if many else 16384, UNROLL=unroll,
            BLOCK_COLS=4096 if many else 16384 // x.element_size(), num_warps=(LONG_WARPS or 16) if many else 32,
        )  # fmt: skip
    else:
        parts = -(-cols // PART_BLOCK)
        maxima = torch.empty((rows, parts), dtype=torch.float32, device=x.device)
        sums = torch.empty((rows, parts), dtype=torch.float32, device=x.device)
        part_kernel[(rows * parts,)](x, maxima, sums, cols, parts, PART_BLOCK=PART_BLOCK, num_warps=8)
        pieces = -(-cols // WRITE_BLOCK)
        write_kernel[(rows * pieces,)](
            x, maxima, sums, out, cols, parts, pieces,
            BLOCK_PARTS=power_of_two_from(parts), BLOCK_COLS=WRITE_BLOCK, num_warps=8,
        )  # fmt: skip
    return out
