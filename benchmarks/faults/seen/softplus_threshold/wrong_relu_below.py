# fault: returns 0 below -threshold (symmetric shortcut); shows where exp(x) still matters, as with a small threshold
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, beta, threshold, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    z = x * beta
    e = tl.exp(tl.minimum(z, threshold))
    u = 1.0 + e
    # log1p: the rounding of 1 + e is divided out
    log1p = tl.where(u == 1.0, e, tl.log(u) * (e / tl.where(u == 1.0, 1.0, u - 1.0)))
    tl.store(out_ptr + at, tl.where(z > threshold, x, tl.where(z < -threshold, 0.0, log1p / beta)), mask=inside)


def kernel_function(x, beta, threshold):
    x = x.contiguous()
    n = x.numel()
    out = torch.empty_like(x)
    kernel[(triton.cdiv(n, 256),)](x, out, n, beta, threshold, BLOCK=256)
    return out
