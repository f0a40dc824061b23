# Rows are added in half precision before the float32 accumulator gets them: github.com/meta-pytorch/torchrec/pull/3730
"""One bag per program, two rows at a time."""

import torch
import triton
import triton.language as tl


@triton.jit
def load_row(table_ptr, index_ptr, weight_ptr, place, used, dim, lanes):
    row = tl.load(index_ptr + place, mask=used, other=0)
    weight = tl.load(weight_ptr + place, mask=used, other=0.0)
    value = tl.load(table_ptr + row * dim + lanes, mask=lanes < dim, other=0.0)
    return value * weight.to(value.dtype)


@triton.jit
def pool_kernel(table_ptr, index_ptr, weight_ptr, out_ptr, length, dim, BLOCK: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(0, length, 2):
        first = load_row(table_ptr, index_ptr, weight_ptr, bag * length + step, step < length, dim, lanes)
        second = load_row(table_ptr, index_ptr, weight_ptr, bag * length + step + 1, step + 1 < length, dim, lanes)
        total += first + second
    tl.store(out_ptr + bag * dim + lanes, total, mask=lanes < dim)


def kernel_function(table, index, weight):
    table, index, weight = table.contiguous(), index.contiguous(), weight.contiguous()
    bags, length = index.shape
    dim = table.shape[1]
    out = torch.empty((bags, dim), dtype=torch.float32, device=table.device)
    pool_kernel[(bags,)](table, index, weight, out, length, dim, BLOCK=triton.next_power_of_2(dim))
    return out
