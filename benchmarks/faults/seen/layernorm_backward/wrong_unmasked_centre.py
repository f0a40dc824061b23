# fault: does not mask the centred values, so padding adds the squared mean to the variance; shows where the width is no power of two and the mean is not zero
import torch
import triton
import triton.language as tl


@triton.jit
def dx_kernel(x_ptr, w_ptr, dy_ptr, dx_ptr, mean_ptr, rstd_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * cols
    col = tl.arange(0, BLOCK)
    inside = col < cols
    x = tl.load(x_ptr + base + col, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + col, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + base + col, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    centred = x - mean
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    hat = centred * rstd
    g = dy * w
    c1 = tl.sum(g, axis=0) / cols
    c2 = tl.sum(g * hat, axis=0) / cols
    tl.store(dx_ptr + base + col, rstd * (g - c1 - hat * c2), mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def dw_kernel(x_ptr, dy_ptr, mean_ptr, rstd_ptr, dw_ptr, db_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)[None, :]
    dw = tl.zeros((ROWS, COLS), tl.float32)
    db = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & (col < cols)
        at = row.to(tl.int64) * cols + col
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row, mask=row < rows, other=0.0)
        rstd = tl.load(rstd_ptr + row, mask=row < rows, other=0.0)
        dw += dy * (x - mean) * rstd
        db += dy
    col1 = tl.program_id(0) * COLS + tl.arange(0, COLS)
    tl.store(dw_ptr + col1, tl.sum(dw, axis=0), mask=col1 < cols)
    tl.store(db_ptr + col1, tl.sum(db, axis=0), mask=col1 < cols)


def kernel_function(x, weight, dy):
    x = x.contiguous()
    weight = weight.contiguous()
    dy = dy.contiguous()
    rows, cols = x.shape
    dx = torch.empty_like(x)
    dw = torch.empty_like(weight)
    db = torch.empty_like(weight)
    mean = torch.empty(rows, dtype=torch.float32, device=x.device)
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    dx_kernel[(rows,)](x, weight, dy, dx, mean, rstd, cols, 1e-5, BLOCK=triton.next_power_of_2(cols))
    dw_kernel[(triton.cdiv(cols, 32),)](x, dy, mean, rstd, dw, db, rows, cols, ROWS=16, COLS=32)
    return dx, dw, db
