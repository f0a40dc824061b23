# fault: the forward starts at zero: rows of negative values
import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.load(x_ptr + row.to(tl.int64) * cols + at, mask=at < cols, other=float("-inf")))
    tl.store(out_ptr + row, tl.max(top, axis=0))


@triton.jit
def backward_kernel(g_ptr, x_ptr, top_ptr, dx_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.load(top_ptr + row)
    g = tl.load(g_ptr + row)
    count = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * cols + at, mask=at < cols, other=float("-inf"))
        count += tl.where((x == top) & (at < cols), 1.0, 0.0)
    share = g / tl.sum(count, axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * cols + at, mask=at < cols, other=float("-inf"))
        tl.store(dx_ptr + row.to(tl.int64) * cols + at, tl.where(x == top, share, 0.0), mask=at < cols)


def kernel_function(x):
    x = x.contiguous()
    rows, cols = x.shape
    out = torch.empty(rows, dtype=x.dtype, device=x.device)
    forward_kernel[(rows,)](x, out, cols, BLOCK=128)
    return out


def kernel_backward(grad_0, x, output_0):
    grad_0 = grad_0.contiguous()
    x = x.contiguous()
    rows, cols = x.shape
    dx = torch.empty_like(x)
    backward_kernel[(rows,)](grad_0, x, output_0, dx, cols, BLOCK=128)
    return dx
