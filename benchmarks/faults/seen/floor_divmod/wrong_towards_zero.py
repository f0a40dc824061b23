# fault: leaves the quotient rounded towards zero (only the remainder is fixed)
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, q_ptr, r_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside, other=0)
    b = tl.load(b_ptr + at, mask=inside, other=1)
    q = a // b  # towards zero
    r = a - q * b
    fix = (r != 0) & ((r < 0) != (b < 0))
    tl.store(q_ptr + at, q, mask=inside)
    tl.store(r_ptr + at, tl.where(fix, r + b, r), mask=inside)


def kernel_function(a, b):
    a = a.contiguous()
    b = b.contiguous()
    n = a.numel()
    q = torch.empty_like(a)
    r = torch.empty_like(a)
    kernel[(triton.cdiv(n, 256),)](a, b, q, r, n, BLOCK=256)
    return q, r
