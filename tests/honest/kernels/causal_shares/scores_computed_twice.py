"""The first kernel adds scores up in a tree, for maximum and sum; the second adds them in order."""

import torch
import triton
import triton.language as tl


@triton.jit
def sums_kernel(q_ptr, k_ptr, largest_ptr, sum_ptr, rows, ROWS: tl.constexpr, SIZE: tl.constexpr):
    row, head, key, lanes = tl.program_id(0), tl.program_id(1), tl.arange(0, ROWS), tl.arange(0, SIZE)
    q = tl.load(q_ptr + (head * rows + row) * SIZE + lanes)
    there = (key <= row)[:, None] & (lanes >= 0)[None, :]
    k = tl.load(k_ptr + (head * rows + key)[:, None] * SIZE + lanes[None, :], mask=there, other=0.0)
    scores = tl.where(key <= row, tl.sum(q[None, :] * k, axis=1) * 0.25, -float("inf"))
    largest = tl.max(scores, axis=0)
    tl.store(largest_ptr + head * rows + row, largest)
    tl.store(sum_ptr + head * rows + row, tl.sum(tl.exp(scores - largest), axis=0))


@triton.jit
def outputs_kernel(q_ptr, k_ptr, v_ptr, largest_ptr, sum_ptr, out_ptr, rows, ROWS: tl.constexpr, SIZE: tl.constexpr):
    row, head, key, lanes = tl.program_id(0), tl.program_id(1), tl.arange(0, ROWS), tl.arange(0, SIZE)
    scores = tl.zeros((ROWS,), tl.float32)
    for at in range(SIZE):
        q = tl.load(q_ptr + (head * rows + row) * SIZE + at)
        scores += q * tl.load(k_ptr + (head * rows + key) * SIZE + at, mask=key <= row, other=0.0)
    scores = tl.where(key <= row, scores * 0.25, -float("inf"))
    shares = tl.exp(scores - tl.load(largest_ptr + head * rows + row)) / tl.load(sum_ptr + head * rows + row)
    there = (key <= row)[:, None] & (lanes >= 0)[None, :]
    v = tl.load(v_ptr + (head * rows + key)[:, None] * SIZE + lanes[None, :], mask=there, other=0.0)
    tl.store(out_ptr + (head * rows + row) * SIZE + lanes, tl.sum(shares[:, None] * v, axis=0))


def kernel_function(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    heads, rows, size = q.shape
    largest = torch.empty((heads, rows), dtype=torch.float32, device=q.device)
    total = torch.empty_like(largest)
    out = torch.empty_like(q)
    blocks = dict(ROWS=triton.next_power_of_2(rows), SIZE=size)
    sums_kernel[(rows, heads)](q, k, largest, total, rows, **blocks)
    outputs_kernel[(rows, heads)](q, k, v, largest, total, out, rows, **blocks)
    return out
