# fault: multiplies the reset gate into xn + hn, not hn alone
import torch
import triton
import triton.language as tl


@triton.jit
def sigmoid(x):
    e = tl.exp(-tl.abs(x))
    return tl.where(x >= 0.0, 1.0, e) / (1.0 + e)


@triton.jit
def tanh(x):
    a = tl.abs(x)
    e = tl.exp(-2.0 * a)
    # near zero the quotient loses digits: a short series instead
    s = a * a
    series = a * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0 - s * (17.0 / 315.0))))
    t = tl.where(a < 0.1, series, (1.0 - e) / (1.0 + e))
    return tl.where(x >= 0.0, t, -t)


@triton.jit
def kernel(xg_ptr, hg_ptr, h_ptr, out_ptr, size, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = col < size
    gates = row * 3 * size + col
    xr = tl.load(xg_ptr + gates, mask=inside, other=0.0).to(tl.float32)
    xz = tl.load(xg_ptr + gates + size, mask=inside, other=0.0).to(tl.float32)
    xn = tl.load(xg_ptr + gates + 2 * size, mask=inside, other=0.0).to(tl.float32)
    hr = tl.load(hg_ptr + gates, mask=inside, other=0.0).to(tl.float32)
    hz = tl.load(hg_ptr + gates + size, mask=inside, other=0.0).to(tl.float32)
    hn = tl.load(hg_ptr + gates + 2 * size, mask=inside, other=0.0).to(tl.float32)
    h = tl.load(h_ptr + row * size + col, mask=inside, other=0.0).to(tl.float32)
    r = sigmoid(xr + hr)
    z = sigmoid(xz + hz)
    n = tanh(r * (xn + hn))
    tl.store(out_ptr + row * size + col, n + z * (h - n), mask=inside)


def kernel_function(xg, hg, h):
    xg = xg.contiguous()
    hg = hg.contiguous()
    h = h.contiguous()
    batch, size = h.shape
    out = torch.empty_like(h)
    kernel[(batch, triton.cdiv(size, 128))](xg, hg, h, out, size, BLOCK=128)
    return out
