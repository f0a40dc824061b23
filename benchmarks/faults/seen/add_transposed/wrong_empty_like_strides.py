# fault: allocates the result like x, so for a transposed x the result's strides are not what the kernel writes by
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, b_ptr, out_ptr, rows, cols, xs0, xs1, ys0, ys1, bs, alpha, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]).to(tl.int64)
    col = (tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]).to(tl.int64)
    inside = (row < rows) & (col < cols)
    x = tl.load(x_ptr + row * xs0 + col * xs1, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + col * ys0 + row * ys1, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + col * bs, mask=col < cols, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + col, x + y * alpha + b, mask=inside)


def kernel_function(x, y, bias, alpha):
    rows, cols = x.shape
    out = torch.empty_like(x)
    kernel[(triton.cdiv(rows, 32), triton.cdiv(cols, 32))](
        x, y, bias, out, rows, cols, x.stride(0), x.stride(1), y.stride(0), y.stride(1), bias.stride(0), alpha, ROWS=32, COLS=32
    )
    return out
