"""A persistent kernel: as many programs as the device has multiprocessors, each taking every so many blocks."""

import torch
import triton
import triton.language as tl


@triton.jit
def affine_relu_persistent(
    x_ptr, w_ptr, b_ptr, s_ptr, out_ptr, n, features, blocks, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr
):
    for block in range(tl.program_id(0), blocks, PROGRAMS):
        i = block * BLOCK + tl.arange(0, BLOCK)
        inside = i < n
        column = i % features
        value = tl.load(x_ptr + i, mask=inside).to(tl.float32) * tl.load(w_ptr + column, mask=inside).to(tl.float32)
        value += tl.load(b_ptr + column, mask=inside).to(tl.float32)
        value -= tl.load(s_ptr + column, mask=inside).to(tl.float32)
        tl.store(out_ptr + i, tl.maximum(value, 0.0), mask=inside)


def kernel_function(x, weight, bias, shift):
    x = x.contiguous()
    out = torch.empty_like(x)
    blocks = triton.cdiv(x.numel(), 64)
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    programs = min(sms, blocks)
    affine_relu_persistent[(programs,)](
        x, weight, bias, shift, out, x.numel(), x.shape[1], blocks, PROGRAMS=programs, BLOCK=64, num_warps=2
    )
    return out
