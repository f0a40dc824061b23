# fault: decays after the step (the update decays too)
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(p_ptr, g_ptr, m_ptr, n, lr, decay, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p = tl.load(p_ptr + at, mask=inside, other=0.0)
    g = tl.load(g_ptr + at, mask=inside, other=0.0)
    m = tl.load(m_ptr + at, mask=inside, other=0.0)
    mix = m * 0.875 + g * 0.125
    sign = tl.where(mix > 0.0, 1.0, tl.where(mix < 0.0, -1.0, 0.0))
    tl.store(p_ptr + at, (p - lr * sign) * decay, mask=inside)
    tl.store(m_ptr + at, m * 0.96875 + g * 0.03125, mask=inside)


def kernel_function(param, grad, momentum, lr, weight_decay):
    assert param.is_contiguous() and momentum.is_contiguous()
    grad = grad.contiguous()
    n = param.numel()
    kernel[(triton.cdiv(n, 256),)](param, grad, momentum, n, lr, 1 - lr * weight_decay, BLOCK=256)
