# l2_norm, trial 3, round 1: improve of 0, by mailbox:assistant
# passed: 5.241 ms in the search
# confirmation passed: 5.243 ms
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0

"""Rows divided by their Euclidean norm: whole groups of four numbers, read forwards and then backwards.

Idea: a row begins at no multiple of 16 bytes, so that Triton loads each number by itself. Between the first and the
last multiple of 16 bytes in a row there are whole groups of four; the masks are the same within each group, so that a
group is one load. At most three numbers before and behind them are loaded by themselves. The second pass begins where
the first one ended, whose numbers are still in the caches, and what is needed no more leaves them first.
Must move: x once and a part of it twice, out once.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def divide_rows(x_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * dim
    end = begin + dim
    first = (begin + 3) // 4 * 4
    count = tl.maximum(end // 4 * 4 - first, 0)  # in whole groups
    edge = tl.arange(0, 4)
    before = edge < tl.minimum(first, end) - begin
    behind = first + count + edge < end
    head = tl.load(x_ptr + begin + edge, mask=before, other=0.0)
    tail = tl.load(x_ptr + first + count + edge, mask=behind, other=0.0)
    x_groups = x_ptr + first
    out_groups = out_ptr + first
    number = tl.arange(0, BLOCK)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, count, BLOCK):
        inside = number // 4 < (count - start) // 4
        x = tl.load(x_groups + start + number, mask=inside, other=0.0, eviction_policy="evict_last")
        squares += x * x
    norm = tl.sqrt_rn(tl.sum(squares) + tl.sum(head * head) + tl.sum(tail * tail))
    tl.store(out_ptr + begin + edge, head / norm, mask=before)
    tl.store(out_ptr + first + count + edge, tail / norm, mask=behind)
    blocks = tl.cdiv(count, BLOCK)
    for done in range(0, blocks):
        start = tl.multiple_of((blocks - 1 - done) * BLOCK, BLOCK)
        inside = number // 4 < (count - start) // 4
        x = tl.load(x_groups + start + number, mask=inside, eviction_policy="evict_first")
        tl.store(out_groups + start + number, x / norm, mask=inside, eviction_policy="evict_first")


BLOCK = 16384
NUM_WARPS = 32


def kernel_function(x):
    x = x.contiguous()
    rows, dim = x.shape
    out = torch.empty_like(x)
    divide_rows[(rows,)](x, out, dim, BLOCK=BLOCK, num_warps=NUM_WARPS)
    return out
