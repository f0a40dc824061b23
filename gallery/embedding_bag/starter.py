"""Sums of rows of a table picked by number, one program per bag and block of columns.

Idea: a program keeps its sums in float32, walks the numbers of its bag and adds its part of the row that each of them
names.
Must move: every row of the table that some number names, once, the numbers, and bags * width sums; how many rows that
is depends on the numbers. One addition for each element of a named row, far from the limit.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_bag_kernel(ids_ptr, table_ptr, out_ptr, length, width, BLOCK_WIDTH: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    inside = column < width
    total = tl.zeros((BLOCK_WIDTH,), tl.float32)
    for place in range(0, length):
        row = tl.load(ids_ptr + bag * length + place)  # int64: row * width may pass 2^31
        total += tl.load(table_ptr + row * width + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + bag * width + column, total.to(out_ptr.dtype.element_ty), mask=inside)


def kernel_function(ids, table_weight):
    ids = ids.contiguous()
    table_weight = table_weight.contiguous()
    bags, length = ids.shape
    width = table_weight.shape[1]
    out = torch.empty((bags, width), dtype=table_weight.dtype, device=ids.device)
    BLOCK_WIDTH = 128
    grid = (bags, triton.cdiv(width, BLOCK_WIDTH))
    embedding_bag_kernel[grid](ids, table_weight, out, length, width, BLOCK_WIDTH=BLOCK_WIDTH, num_warps=1)
    return out
