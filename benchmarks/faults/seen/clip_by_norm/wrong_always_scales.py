# fault: scales up short gradients too (no limit of the factor)
import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(g_ptr, part_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        acc += g * g
    tl.store(part_ptr + tl.program_id(0), tl.sum(acc, axis=0))


@triton.jit
def scale_kernel(g_ptr, part_ptr, norm_ptr, n, parts, max_norm, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, PARTS)
    norm = tl.sqrt(tl.sum(tl.load(part_ptr + lane, mask=lane < parts, other=0.0), axis=0))
    factor = max_norm / (norm + 1e-6)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0)
    tl.store(g_ptr + at, g * factor, mask=at < n)
    if tl.program_id(0) == 0:
        tl.store(norm_ptr, norm)


def kernel_function(grad, max_norm):
    assert grad.is_contiguous()
    n = grad.numel()
    parts = min(triton.cdiv(n, 256), 8)
    part = torch.empty(parts, dtype=torch.float32, device=grad.device)
    norm = torch.empty((), dtype=torch.float32, device=grad.device)
    sum_kernel[(parts,)](grad, part, n, BLOCK=256)
    scale_kernel[(triton.cdiv(n, 256),)](grad, part, norm, n, parts, max_norm, PARTS=8, BLOCK=256)
    return norm
