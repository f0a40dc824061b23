"""Sums of rows of a table picked by number, many rows under way at a time.

Idea: rows lie anywhere in the table, so a load waits for DRAM, and what counts is how many are waiting. A program loads
a vector of BLOCK_LENGTH numbers of its bag and with it as many rows in one two-dimensional load; the starter loads a
number, then its row, then the next. Columns are divided among programs where rows are long.
Must move: every row of the table that some number names, once, the numbers, and bags * width sums; how many rows that
is depends on the numbers. One addition for each element of a named row, far from the limit.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_bag_kernel(
    ids_ptr, table_ptr, out_ptr, length, width, BLOCK_LENGTH: tl.constexpr, BLOCK_WIDTH: tl.constexpr
):  # fmt: skip
    bag = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    place = tl.arange(0, BLOCK_LENGTH)
    total = tl.zeros((BLOCK_LENGTH, BLOCK_WIDTH), tl.float32)
    for start in range(0, length, BLOCK_LENGTH):
        in_bag = start + place < length
        row = tl.load(ids_ptr + bag * length + start + place, mask=in_bag, other=0)  # int64: row * width may pass 2^31
        inside = in_bag[:, None] & (column < width)[None, :]
        total += tl.load(table_ptr + row[:, None] * width + column[None, :], mask=inside, other=0.0).to(tl.float32)
    sums = tl.sum(total, axis=0)
    tl.store(out_ptr + bag * width + column, sums.to(out_ptr.dtype.element_ty), mask=column < width)


def kernel_function(ids, table_weight):
    ids = ids.contiguous()
    table_weight = table_weight.contiguous()
    bags, length = ids.shape
    width = table_weight.shape[1]
    out = torch.empty((bags, width), dtype=table_weight.dtype, device=ids.device)
    BLOCK_LENGTH = 16
    BLOCK_WIDTH = min(triton.next_power_of_2(width), 128)
    grid = (bags, triton.cdiv(width, BLOCK_WIDTH))
    embedding_bag_kernel[grid](
        ids, table_weight, out, length, width, BLOCK_LENGTH=BLOCK_LENGTH, BLOCK_WIDTH=BLOCK_WIDTH, num_warps=2
    )
    return out
