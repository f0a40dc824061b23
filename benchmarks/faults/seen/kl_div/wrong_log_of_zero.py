# fault: multiplies q by log(q) without the case q = 0, which gives NaN
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(p_ptr, q_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + lanes < cols
        p = tl.load(p_ptr + base + start + lanes, mask=inside, other=0.0).to(tl.float32)
        q = tl.load(q_ptr + base + start + lanes, mask=inside, other=0.0).to(tl.float32)
        acc += tl.where(inside, q * (tl.log(q) - p), 0.0)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


def kernel_function(log_p, q):
    log_p = log_p.contiguous()
    q = q.contiguous()
    rows, cols = log_p.shape
    out = torch.empty(rows, dtype=log_p.dtype, device=log_p.device)
    kernel[(rows,)](log_p, q, out, cols, BLOCK=128)
    return out
