"""Rotary embedding of queries and keys in one launch: a program rotates some heads of one token.

Angles are read once for ROWS heads instead of once for each. Heads of queries and keys are counted through: the first
`heads` are those of q.
"""

import triton
import triton.language as tl


@triton.jit
def rotary_kernel(
    q_ptr, k_ptr, cos_ptr, sin_ptr, heads, kv_heads, half, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = column < half
    cos = tl.load(cos_ptr + token * half + column, mask=inside).to(tl.float32)
    sin = tl.load(sin_ptr + token * half + column, mask=inside).to(tl.float32)

    of_q = inside & (head < heads)
    row = q_ptr + (token * heads + head) * 2 * half + column
    first = tl.load(row, mask=of_q).to(tl.float32)
    second = tl.load(row + half, mask=of_q).to(tl.float32)
    tl.store(row, first * cos - second * sin, mask=of_q)
    tl.store(row + half, second * cos + first * sin, mask=of_q)

    of_k = inside & (head >= heads) & (head < heads + kv_heads)
    row = k_ptr + (token * kv_heads + head - heads) * 2 * half + column
    first = tl.load(row, mask=of_k).to(tl.float32)
    second = tl.load(row + half, mask=of_k).to(tl.float32)
    tl.store(row, first * cos - second * sin, mask=of_k)
    tl.store(row + half, second * cos + first * sin, mask=of_k)


def kernel_function(q, k, cos, sin):
    assert q.is_contiguous()
    assert k.is_contiguous()
    heads, kv_heads, half = q.shape[1], k.shape[1], cos.shape[2]
    rows = 8
    grid = (q.shape[0], triton.cdiv(heads + kv_heads, rows))
    block = triton.next_power_of_2(half)
    rotary_kernel[grid](q, k, cos.contiguous(), sin.contiguous(), heads, kv_heads, half, ROWS=rows, BLOCK=block)
    return q, k
