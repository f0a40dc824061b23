# fault: clamps the decay to be positive (at least zero), as log-space scans do; shows where a is negative
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, reset_ptr, h0_ptr, out_ptr, last_ptr, steps, channels, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = channel < channels
    h = tl.load(h0_ptr + row * channels + channel, mask=inside, other=0.0).to(tl.float32)
    for t in range(0, steps):
        at = (row * steps + t) * channels + channel
        a = tl.load(a_ptr + at, mask=inside, other=0.0).to(tl.float32)
        a = tl.maximum(a, 0.0)
        b = tl.load(b_ptr + at, mask=inside, other=0.0).to(tl.float32)
        restart = tl.load(reset_ptr + row * steps + t) != 0
        h = a * tl.where(restart, 0.0, h) + b
        tl.store(out_ptr + at, h, mask=inside)
    tl.store(last_ptr + row * channels + channel, h, mask=inside)


def kernel_function(a, b, reset, h0):
    a = a.contiguous()
    b = b.contiguous()
    reset = reset.contiguous()
    h0 = h0.contiguous()
    batch, steps, channels = a.shape
    out = torch.empty_like(a)
    last = torch.empty_like(h0)
    kernel[(batch, triton.cdiv(channels, 32))](a, b, reset, h0, out, last, steps, channels, BLOCK=32)
    return out, last
