# fault: counts the whole last page, rows past the length included
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, out_ptr, heads, pages, scale, SIZE: tl.constexpr, PAGE: tl.constexpr
):
    batch = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(length_ptr + batch).to(tl.int32)
    d = tl.arange(0, SIZE)
    row = tl.arange(0, PAGE)
    q = tl.load(q_ptr + (batch * heads + head) * SIZE + d).to(tl.float32)
    peak = float("-inf")
    total = 0.0
    acc = tl.zeros((SIZE,), tl.float32)
    for p in range(0, tl.cdiv(length, PAGE)):
        block = tl.load(table_ptr + batch * pages + p).to(tl.int64)
        real = p * PAGE + row < tl.cdiv(length, PAGE) * PAGE
        at = ((block * PAGE + row[:, None]) * heads + head) * SIZE + d[None, :]
        k = tl.load(k_ptr + at, mask=real[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + at, mask=real[:, None], other=0.0).to(tl.float32)
        s = tl.where(real, tl.sum(k * q[None, :], axis=1) * scale, float("-inf"))
        new = tl.maximum(peak, tl.max(s, axis=0))
        w = tl.exp(s - new)
        shrink = tl.exp(peak - new)
        total = total * shrink + tl.sum(w, axis=0)
        acc = acc * shrink + tl.sum(w[:, None] * v, axis=0)
        peak = new
    total = tl.where(length > 0, total, 1.0)
    tl.store(out_ptr + (batch * heads + head) * SIZE + d, acc / total)


def kernel_function(q, k_cache, v_cache, table, lengths):
    q = q.contiguous()
    k_cache = k_cache.contiguous()
    v_cache = v_cache.contiguous()
    table = table.contiguous()
    lengths = lengths.contiguous()
    batch, heads, size = q.shape
    out = torch.empty_like(q)
    kernel[(batch, heads)](
        q, k_cache, v_cache, table, lengths, out, heads, table.shape[1], size**-0.5, SIZE=size, PAGE=k_cache.shape[1]
    )
    return out
