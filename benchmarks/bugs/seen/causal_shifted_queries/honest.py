"""Causal attention, one query of one head per program, with the softmax online over blocks of keys."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, queries, keys, scale, DIM: tl.constexpr, BLOCK: tl.constexpr):
    query, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    lanes = tl.arange(0, DIM)
    q = tl.load(q_ptr + (head * queries + query) * DIM + lanes).to(tl.float32) * scale
    last_key = query + keys - queries
    largest = float("-inf")
    total = 0.0
    mixed = tl.zeros((DIM,), tl.float32)
    for start in range(0, last_key + 1, BLOCK):
        key = start + tl.arange(0, BLOCK)
        seen = key <= last_key
        place = (head * keys + key)[:, None] * DIM + lanes[None, :]
        k = tl.load(k_ptr + place, mask=seen[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + place, mask=seen[:, None], other=0.0).to(tl.float32)
        score = tl.where(seen, tl.sum(k * q[None, :], axis=1), float("-inf"))
        larger = tl.maximum(largest, tl.max(score, axis=0))
        weight = tl.exp(score - larger)
        shrink = tl.exp(largest - larger)
        total = total * shrink + tl.sum(weight, axis=0)
        mixed = mixed * shrink + tl.sum(weight[:, None] * v, axis=0)
        largest = larger
    tl.store(out_ptr + (head * queries + query) * DIM + lanes, mixed / total)


def kernel_function(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    batch, heads, queries, dim = q.shape
    keys = k.shape[2]
    out = torch.empty_like(q)
    scale = 1 / math.sqrt(dim)
    attention_kernel[(queries, batch * heads)](q, k, v, out, queries, keys, scale, DIM=dim, BLOCK=32)
    return out
