# fault: the gradient is zero at the limits themselves
import torch
import triton
import triton.language as tl


SAVED = ()


@triton.jit
def forward_kernel(x_ptr, w_ptr, out_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    w = tl.load(w_ptr + at % cols, mask=inside, other=0.0)
    tl.store(out_ptr + at, tl.minimum(tl.maximum(x, -1.0), 1.0) * w, mask=inside)


@triton.jit
def backward_kernel(g_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    w = tl.load(w_ptr + col, mask=col < cols, other=0.0)
    acc = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        at = row[:, None].to(tl.int64) * cols + col[None, :]
        g = tl.load(g_ptr + at, mask=inside, other=0.0)
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        passes = (x > -1.0) & (x < 1.0)
        tl.store(dx_ptr + at, tl.where(passes, g * w[None, :], 0.0), mask=inside)
        acc += g * tl.minimum(tl.maximum(x, -1.0), 1.0)
    tl.store(dw_ptr + col, tl.sum(acc, axis=0), mask=col < cols)


def kernel_function(x, weight):
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    forward_kernel[(triton.cdiv(n, 256),)](x, weight, out, n, x.shape[1], BLOCK=256)
    return out


def kernel_backward(grad_0, x, weight):
    grad_0 = grad_0.contiguous()
    x = x.contiguous()
    rows, cols = x.shape
    dx = torch.empty_like(x)
    dw = torch.empty_like(weight)
    backward_kernel[(triton.cdiv(cols, 16),)](grad_0, x, weight, dx, dw, rows, cols, ROWS=16, COLS=16)
    return dx, dw
