"""One kernel gates the gradient, a second applies the transposed convolution, one token per program."""

import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(grad_ptr, gate_ptr, gated_ptr, channels, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * channels
    for start in range(0, channels, BLOCK):
        channel = start + tl.arange(0, BLOCK)
        inside = channel < channels
        grad = tl.load(grad_ptr + row + channel, mask=inside).to(tl.float32)
        gate = tl.load(gate_ptr + row + channel, mask=inside).to(tl.float32)
        tl.store(gated_ptr + row + channel, grad * gate, mask=inside)


@triton.jit
def convolve_kernel(gated_ptr, taps_ptr, mixed_ptr, tokens, channels, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    for start in range(0, channels, BLOCK):
        channel = start + tl.arange(0, BLOCK)
        inside = channel < channels
        total = tl.zeros((BLOCK,), tl.float32)
        for shift in range(4):
            tap = tl.load(taps_ptr + shift * channels + channel, mask=inside, other=0.0).to(tl.float32)
            known = inside & (token + shift < tokens)
            total += tap * tl.load(gated_ptr + (token + shift) * channels + channel, mask=known, other=0.0)
        tl.store(mixed_ptr + token * channels + channel, total, mask=inside)


def kernel_function(grad, gate, taps):
    grad, gate, taps = grad.contiguous(), gate.contiguous(), taps.contiguous()
    tokens, channels = grad.shape
    gated = torch.empty((tokens, channels), dtype=torch.float32, device=grad.device)
    mixed = torch.empty_like(grad)
    gate_kernel[(tokens,)](grad, gate, gated, channels, BLOCK=128)
    convolve_kernel[(tokens,)](gated, taps, mixed, tokens, channels, BLOCK=128)
    return mixed
