# fault: does not limit the sides of the overlap at zero: boxes apart in both directions get a positive overlap
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, out_ptr, n, m, N: tl.constexpr, M: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)[:, None]
    j = tl.program_id(1) * M + tl.arange(0, M)[None, :]
    ok_i = i < n
    ok_j = j < m
    ax0 = tl.load(a_ptr + i * 4, mask=ok_i, other=0.0)
    ay0 = tl.load(a_ptr + i * 4 + 1, mask=ok_i, other=0.0)
    ax1 = tl.load(a_ptr + i * 4 + 2, mask=ok_i, other=0.0)
    ay1 = tl.load(a_ptr + i * 4 + 3, mask=ok_i, other=0.0)
    bx0 = tl.load(b_ptr + j * 4, mask=ok_j, other=0.0)
    by0 = tl.load(b_ptr + j * 4 + 1, mask=ok_j, other=0.0)
    bx1 = tl.load(b_ptr + j * 4 + 2, mask=ok_j, other=0.0)
    by1 = tl.load(b_ptr + j * 4 + 3, mask=ok_j, other=0.0)
    width = tl.minimum(ax1, bx1) - tl.maximum(ax0, bx0)
    height = tl.minimum(ay1, by1) - tl.maximum(ay0, by0)
    common = width * height
    union = (ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - common
    iou = tl.where(union > 0.0, common / tl.where(union > 0.0, union, 1.0), 0.0)
    tl.store(out_ptr + i.to(tl.int64) * m + j, iou, mask=ok_i & ok_j)


def kernel_function(a, b):
    a = a.contiguous()
    b = b.contiguous()
    n, m = a.shape[0], b.shape[0]
    out = torch.empty(n, m, dtype=a.dtype, device=a.device)
    kernel[(triton.cdiv(n, 16), triton.cdiv(m, 32))](a, b, out, n, m, N=16, M=32)
    return out
