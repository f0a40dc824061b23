"""Each program sums every n-th block and adds its sum to the result."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, count, tl.num_programs(0) * BLOCK):
        place = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + place, mask=place < count, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr, tl.sum(total, axis=0))


def kernel_function(x):
    x = x.contiguous()
    count = x.shape[0]
    out = torch.zeros((1,), dtype=x.dtype, device=x.device)
    sum_kernel[(min(triton.cdiv(count, 1024), 264),)](x, out, count, BLOCK=1024)
    return out
