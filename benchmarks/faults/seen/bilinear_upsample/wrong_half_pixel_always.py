# fault: uses pixel centres also for aligned corners, with the aligned ratio
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, h, w, height, width, sy, sx, ALIGNED: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < height * width
    i = (at // width).to(tl.float32)
    j = (at % width).to(tl.float32)
    y = tl.maximum((i + 0.5) * sy - 0.5, 0.0)
    x = tl.maximum((j + 0.5) * sx - 0.5, 0.0)
    y0 = tl.minimum(y.to(tl.int32), h - 1)
    x0 = tl.minimum(x.to(tl.int32), w - 1)
    y1 = tl.minimum(y0 + 1, h - 1)
    x1 = tl.minimum(x0 + 1, w - 1)
    fy = y - y0.to(tl.float32)
    fx = x - x0.to(tl.float32)
    base = x_ptr + plane * h * w
    a = tl.load(base + y0 * w + x0, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(base + y0 * w + x1, mask=inside, other=0.0).to(tl.float32)
    c = tl.load(base + y1 * w + x0, mask=inside, other=0.0).to(tl.float32)
    d = tl.load(base + y1 * w + x1, mask=inside, other=0.0).to(tl.float32)
    top = a * (1.0 - fx) + b * fx
    low = c * (1.0 - fx) + d * fx
    tl.store(out_ptr + plane * height * width + at, top * (1.0 - fy) + low * fy, mask=inside)


def ratio(n, m, aligned):
    if aligned:
        return (n - 1) / (m - 1) if m > 1 else 0.0
    return n / m


def kernel_function(x, height, width, aligned):
    x = x.contiguous()
    batch, channels, h, w = x.shape
    out = torch.empty(batch, channels, height, width, dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(height * width, 128), batch * channels)](
        x, out, h, w, height, width, ratio(h, height, aligned), ratio(w, width, aligned), ALIGNED=aligned, BLOCK=128
    )
    return out
