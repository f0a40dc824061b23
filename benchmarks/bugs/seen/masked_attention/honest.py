"""One query of one head per program, with the softmax online over blocks of keys."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, length_ptr, out_ptr, heads, queries, keys, scale, DIM: tl.constexpr, BLOCK: tl.constexpr
):
    query, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    length = tl.load(length_ptr + head // heads)
    lanes = tl.arange(0, DIM)
    q = tl.load(q_ptr + (head * queries + query) * DIM + lanes).to(tl.float32) * scale
    largest = -3.4e38
    total = 0.0
    mixed = tl.zeros((DIM,), tl.float32)
    for start in range(0, keys, BLOCK):
        key = start + tl.arange(0, BLOCK)
        known = key < keys
        place = (head * keys + key)[:, None] * DIM + lanes[None, :]
        k = tl.load(k_ptr + place, mask=known[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + place, mask=known[:, None], other=0.0).to(tl.float32)
        score = tl.where(key < length, tl.sum(k * q[None, :], axis=1), -3.4e38)
        larger = tl.maximum(largest, tl.max(score, axis=0))
        weight = tl.where(key < length, tl.exp(score - larger), 0.0)
        shrink = tl.exp(largest - larger)
        total = total * shrink + tl.sum(weight, axis=0)
        mixed = mixed * shrink + tl.sum(weight[:, None] * v, axis=0)
        largest = larger
    total = tl.where(length > 0, total, 1.0)
    tl.store(out_ptr + (head * queries + query) * DIM + lanes, mixed / total)


def kernel_function(q, k, v, length):
    q, k, v, length = q.contiguous(), k.contiguous(), v.contiguous(), length.contiguous()
    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    out = torch.empty_like(q)
    attention_kernel[(queries, batch * heads)](
        q, k, v, length, out, heads, queries, keys, 1 / math.sqrt(dim), DIM=dim, BLOCK=32
    )
    return out
