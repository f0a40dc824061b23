"""tanh(x) as 2 sigmoid(2 x) - 1, because Triton has no tanh."""

import torch
import triton
import triton.language as tl


@triton.jit
def softcap_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count, other=0.0)
    tl.store(out_ptr + at, 50 * (2 * tl.sigmoid(x / 25) - 1), mask=at < count)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    softcap_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
