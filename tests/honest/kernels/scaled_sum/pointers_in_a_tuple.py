"""The inputs go to the kernel as one tuple, and what the kernel does with them is a static loop."""

import torch
import triton
import triton.language as tl


@triton.jit
def weighted_sum(inputs, weights, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for j in tl.static_range(len(inputs)):
        total += weights[j] * tl.load(inputs[j] + i, mask=i < n, other=0.0)
    tl.store(out_ptr + i, total, mask=i < n)


def kernel_function(x, y, alpha, z):
    pairs = [(alpha, x), (1.0, y)]
    if z is not None:
        pairs.append((1.0, z))
    weights = tuple(weight for weight, _ in pairs)
    inputs = tuple(tensor.contiguous() for _, tensor in pairs)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    weighted_sum[(triton.cdiv(out.numel(), 256),)](inputs, weights, out, out.numel(), BLOCK=256)
    return out
