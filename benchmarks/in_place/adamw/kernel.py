"""AdamW in one launch: p, g, m and v are read once, p, m and v written once, 28 bytes an element."""

import triton
import triton.language as tl


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, count, shrink, rate, rest1, beta2, rest2, scale2, eps, BLOCK: tl.constexpr
):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    p = tl.load(p_ptr + place, mask=inside)
    g = tl.load(g_ptr + place, mask=inside)
    m = tl.load(m_ptr + place, mask=inside)
    v = tl.load(v_ptr + place, mask=inside)
    m += rest1 * (g - m)
    v = beta2 * v + rest2 * g * g
    p = p * shrink - rate * m / (tl.sqrt(v * scale2) + eps)
    tl.store(p_ptr + place, p, mask=inside)
    tl.store(m_ptr + place, m, mask=inside)
    tl.store(v_ptr + place, v, mask=inside)


def kernel_function(p, g, m, v, step, lr, beta1, beta2, eps, decay):
    assert p.is_contiguous()
    assert g.is_contiguous()
    assert m.is_contiguous()
    assert v.is_contiguous()
    shrink, rate, scale2 = 1 - lr * decay, lr / (1 - beta1**step), 1 / (1 - beta2**step)
    rest1, rest2 = 1 - beta1, 1 - beta2  # in double precision, as PyTorch computes them
    count = p.numel()
    grid = (triton.cdiv(count, 1024),)
    adamw_kernel[grid](p, g, m, v, count, shrink, rate, rest1, beta2, rest2, scale2, eps, BLOCK=1024)
