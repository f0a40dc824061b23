# fault: leaves values equal to `high` out
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, out_ptr, n, bins, low, high, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    w = tl.load(w_ptr + at, mask=at < n, other=0.0)
    inside = (at < n) & (x >= low) & (x < high)
    which = tl.floor((tl.where(inside, x, low) - low) * scale).to(tl.int32)
    which = tl.minimum(which, bins - 1)
    tl.atomic_add(out_ptr + which, w, mask=inside)


def kernel_function(x, weight, bins, low, high):
    x = x.contiguous()
    weight = weight.contiguous()
    n = x.numel()
    out = torch.zeros(bins, dtype=torch.float32, device=x.device)
    kernel[(triton.cdiv(n, 256),)](x, weight, out, n, bins, low, high, bins / (high - low), BLOCK=256)
    return out
