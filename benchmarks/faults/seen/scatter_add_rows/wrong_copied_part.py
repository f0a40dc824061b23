# fault: copies only whole blocks of 256 elements of base, so the end of the result is left unset
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(base_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(base_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def add_kernel(index_ptr, src_ptr, out_ptr, features, alpha, BLOCK: tl.constexpr):
    item = tl.program_id(0)
    row = tl.load(index_ptr + item)
    for start in range(0, features, BLOCK):
        col = start + tl.arange(0, BLOCK)
        inside = col < features
        s = tl.load(src_ptr + item.to(tl.int64) * features + col, mask=inside, other=0.0)
        tl.atomic_add(out_ptr + row * features + col, s * alpha, mask=inside)


def kernel_function(base, index, src, alpha):
    base = base.contiguous()
    index = index.contiguous()
    src = src.contiguous()
    out = torch.empty_like(base)
    copy_kernel[(base.numel() // 256,)](base, out, base.numel(), BLOCK=256)
    add_kernel[(index.shape[0],)](index, src, out, base.shape[1], alpha, BLOCK=32)
    return out
