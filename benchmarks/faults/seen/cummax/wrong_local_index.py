# fault: the index of later blocks counts from the block's start
import torch
import triton
import triton.language as tl


@triton.jit
def combine(v0, i0, v1, i1):
    take = v1 >= v0
    return tl.where(take, v1, v0), tl.where(take, i1, i0)


@triton.jit
def kernel(x_ptr, v_ptr, i_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    best = float("-inf")
    where = -1
    for start in range(0, cols, BLOCK):
        at = start + lanes
        inside = at < cols
        x = tl.load(x_ptr + base + at, mask=inside, other=float("-inf"))
        v, i = tl.associative_scan((x, at), 0, combine)
        older = v < best
        v = tl.where(older, best, v)
        i = tl.where(older, where, i)
        tl.store(v_ptr + base + at, v, mask=inside)
        tl.store(i_ptr + base + at, tl.where(i >= start, i - start, i).to(tl.int64), mask=inside)
        best = tl.max(v, axis=0)
        where = tl.max(tl.where(inside & (v == best), i, -1), axis=0)


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    values = torch.empty_like(x)
    indices = torch.empty(rows, cols, dtype=torch.int64, device=x.device)
    kernel[(rows,)](x, values, indices, cols, BLOCK=64)
    return values, indices
