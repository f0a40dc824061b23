# fault: rounds the shifted score to half precision before the exponential, also for float32 inputs
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(s_ptr, keep_ptr, out_ptr, per_batch, keys, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    batch = row // per_batch
    base = row.to(tl.int64) * keys
    lanes = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, keys, BLOCK):
        at = start + lanes
        inside = at < keys
        kept = tl.load(keep_ptr + batch.to(tl.int64) * keys + at, mask=inside, other=0) != 0
        s = tl.load(s_ptr + base + at, mask=inside, other=float("-inf")).to(tl.float32) * scale
        top = tl.maximum(top, tl.where(kept, s, float("-inf")))
    peak = tl.max(top, axis=0)
    peak = tl.where(peak == float("-inf"), 0.0, peak)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, keys, BLOCK):
        at = start + lanes
        inside = at < keys
        kept = tl.load(keep_ptr + batch.to(tl.int64) * keys + at, mask=inside, other=0) != 0
        s = tl.load(s_ptr + base + at, mask=inside, other=float("-inf")).to(tl.float32) * scale
        acc += tl.where(kept, tl.exp((s - peak).to(tl.float16).to(tl.float32)), 0.0)
    total = tl.sum(acc, axis=0)
    total = tl.where(total == 0.0, 1.0, total)
    for start in range(0, keys, BLOCK):
        at = start + lanes
        inside = at < keys
        kept = tl.load(keep_ptr + batch.to(tl.int64) * keys + at, mask=inside, other=0) != 0
        s = tl.load(s_ptr + base + at, mask=inside, other=float("-inf")).to(tl.float32) * scale
        tl.store(out_ptr + base + at, tl.where(kept, tl.exp(s - peak), 0.0) / total, mask=inside)


def kernel_function(scores, keep, scale):
    scores = scores.contiguous()
    keep = keep.contiguous()
    batch, heads, queries, keys = scores.shape
    out = torch.empty_like(scores)
    kernel[(batch * heads * queries,)](scores, keep, out, heads * queries, keys, scale, BLOCK=128)
    return out
