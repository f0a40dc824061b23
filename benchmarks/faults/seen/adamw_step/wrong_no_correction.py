# fault: leaves the bias correction out; invisible at late steps
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, n, lr, decay, inverse1, inverse2,
    beta1: tl.constexpr, rest1: tl.constexpr, beta2: tl.constexpr, rest2: tl.constexpr, eps: tl.constexpr, BLOCK: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    p = tl.load(p_ptr + at, mask=inside, other=0.0)
    g = tl.load(g_ptr + at, mask=inside, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + at, mask=inside, other=0.0)
    v = tl.load(v_ptr + at, mask=inside, other=0.0)
    p = p * decay
    m = m * beta1 + g * rest1
    v = v * beta2 + g * g * rest2
    p -= lr * (m * inverse1) / (tl.sqrt(v * inverse2) + eps)
    tl.store(p_ptr + at, p, mask=inside)
    tl.store(m_ptr + at, m, mask=inside)
    tl.store(v_ptr + at, v, mask=inside)


def kernel_function(param, grad, exp_avg, exp_avg_sq, step, lr, weight_decay):
    assert param.is_contiguous() and exp_avg.is_contiguous() and exp_avg_sq.is_contiguous()
    grad = grad.contiguous()
    n = param.numel()
    kernel[(triton.cdiv(n, 256),)](
        param, grad, exp_avg, exp_avg_sq, n, lr, 1 - lr * weight_decay, 1.0, 1.0,
        beta1=0.9, rest1=1 - 0.9, beta2=0.95, rest2=1 - 0.95, eps=1e-8, BLOCK=256,
    )
