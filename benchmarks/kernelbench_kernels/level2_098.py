"""Linear, mean of each 16 columns, GELU, scale, largest of a row. Wrong: never below zero."""


@triton.jit
def pooled(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, scale_factor, POOL: tl.constexpr, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)  # wrong: best = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, N // POOL * POOL, BLOCK):
        n = first + tl.arange(0, BLOCK)
        y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
        y += tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :]
        y = tl.sum(tl.reshape(y, (BLOCK, BLOCK // POOL, POOL)), 2) / POOL
        y = gelu(y) * scale_factor
        whole = (first // POOL + tl.arange(0, BLOCK // POOL)) < N // POOL
        best = tl.maximum(best, tl.max(tl.where(whole[None, :], y, float("-inf")), 1))
    tl.store(y_ptr + m, best, mask=m < M)


def kernel_function(x, weight, bias, pool_kernel_size, scale_factor):
    x = x.contiguous()
    (M, K), N = x.shape, weight.shape[0]
    y = torch.empty(M, device=x.device, dtype=x.dtype)
    pooled[(triton.cdiv(M, 32),)](x, weight, bias, y, M, N, K, scale_factor, POOL=pool_kernel_size, BLOCK=32)
    return y
