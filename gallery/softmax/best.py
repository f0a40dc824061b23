"""Softmax, each row read from DRAM once: in registers, beyond these out of L2, and in parts where rows are few.

Idea: a row that fits a program's registers is loaded, reduced and written in one go, several short rows together. A
longer row keeps its start there and is read twice in its rest, first to be summed, then, out of L2, to be written. The
sum is taken beside the maximum of the start, which is as precise as the row's own as long as nothing overflows (then
the row is walked again with its true maximum): no running maximum, no correction. An exponential of a long row is
one FMA and one exp2; exp would scale around its own for tiny results. Where there are too few long rows to fill the
GPU, programs share a row: each leaves the maximum and the sum of its part, and a second kernel combines these and
writes.
What decides: reading once; for long rows of two-byte values the instructions per value (6.3 and 7.4 in the two loops).
Reaches 93 % of the limit on 4096x4096 in float32, 80 to 89 % on three shapes in bfloat16 (H200, bench).
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
    x = tl.exp2((x - row_max) * LOG2E)
    scale = 1.0 / tl.sum(x, axis=1)[:, None]
    tl.store(out_ptr + row * cols + column, (x * scale).to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def exponent_scale(reference):
    # An FMA rounds reference * LOG2E before it subtracts: from 2**31 on that error alone overflows exp2. Values that
    # differ are then at least 128 apart, so any factor gives 0 for all but the maximum, and 1 is exact.
    return tl.where(tl.abs(reference) > 2147483648.0, 1.0, LOG2E)


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
    reference = tl.maximum(tl.max(held, axis=0), -1.0e38)  # finite: -inf minus -inf would be NaN
    factor = exponent_scale(reference)
    reference *= factor
    total = tl.zeros((BLOCK_COLS,), tl.float32)
    for column in range(HELD_BLOCK, cols, STEP):
        after = column + STEP
        following = tl.load(rest + after, mask=after + lanes < cols, other=float("-inf"))
        total += tl.sum(tl.exp2(x.to(tl.float32) * factor - reference), axis=0)
        x = following
    summed = tl.sum(tl.exp2(held * factor - reference), axis=0) + tl.sum(total, axis=0)
    if (summed - summed != 0.0) | (summed > 1.0e37):  # inf, NaN, or too large to divide by: the reference was too low
        largest = tl.full((BLOCK_COLS,), -1.0e38, tl.float32)
        for column in range(HELD_BLOCK, cols, STEP):
            again = tl.load(rest + column, mask=column + lanes < cols, other=float("-inf")).to(tl.float32)
            largest = tl.maximum(largest, tl.max(again, axis=0))
        reference = tl.maximum(tl.max(held, axis=0), tl.max(largest, axis=0))
        factor = exponent_scale(reference)
        reference *= factor
        total = tl.zeros((BLOCK_COLS,), tl.float32)
        for column in range(HELD_BLOCK, cols, STEP):
            again = tl.load(rest + column, mask=column + lanes < cols, other=float("-inf")).to(tl.float32)
            total += tl.sum(tl.exp2(again * factor - reference), axis=0)
        summed = tl.sum(tl.exp2(held * factor - reference), axis=0) + tl.sum(total, axis=0)
    scale = 1.0 / summed
    held = tl.exp2(held * factor - reference) * scale
    tl.store(out_ptr + offset + start, held.to(out_ptr.dtype.element_ty), eviction_policy="evict_first")
    for column in range(HELD_BLOCK, cols, STEP):
        inside = column + lanes < cols
        again = tl.load(rest + column, mask=inside, other=0.0, eviction_policy="evict_first").to(tl.float32)
        out = tl.exp2(again * factor - reference) * scale
        tl.store(out_ptr + offset + column + lanes, out.to(out_ptr.dtype.element_ty), mask=inside,
                 eviction_policy="evict_first")  # fmt: skip


@triton.jit
def part_kernel(x_ptr, max_ptr, sum_ptr, cols, parts, PART_BLOCK: tl.constexpr):
    row = (tl.program_id(0) // parts).to(tl.int64)
    column = tl.program_id(0) % parts * PART_BLOCK + tl.arange(0, PART_BLOCK)
    x = tl.load(x_ptr + row * cols + column, mask=column < cols, other=float("-inf")).to(tl.float32)
    part_max = tl.maximum(tl.max(x, axis=0), -1.0e38)  # finite: minus itself it is 0
    tl.store(max_ptr + tl.program_id(0), part_max)
    tl.store(sum_ptr + tl.program_id(0), tl.sum(tl.exp2((x - part_max) * LOG2E), axis=0))


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
        (tl.exp2((x - row_max) * LOG2E) * scale).to(out_ptr.dtype.element_ty),
        mask=column < cols,
    )


ONE_BLOCK = 16384
BLOCK_ELEMENTS = 1024
THREAD_BLOCK = 32
FEW_BLOCKS = 128
"""Rows fewer than this do not fill the GPU one by one."""
MANY_BLOCKS = 264
"""Rows from which two programs share a multiprocessor."""
PART_BLOCK = 8192
WRITE_BLOCK = 4096
PAIR_BYTES = 131072
"""Rows up to here are gone through by two programs a multiprocessor: 264 of them stay in 50 MB of L2."""
UNROLL = 2


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
        rows_kernel[(-(-rows // block_rows),)](
            x, out, rows, cols, BLOCK_ROWS=block_rows, BLOCK_COLS=block_cols, FULL=cols == block_cols, num_warps=warps
        )
    elif block_cols > ONE_BLOCK and rows >= FEW_BLOCKS:
        many = rows >= MANY_BLOCKS and cols * x.element_size() <= PAIR_BYTES
        long_row_kernel[(rows,)](
            x, out, cols, HELD_BLOCK=8192 if many else 16384, UNROLL=UNROLL,
            BLOCK_COLS=4096 if many else 16384 // x.element_size(), num_warps=16 if many else 32,
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
