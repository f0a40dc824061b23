"""Linear, multiply, leaky ReLU. Wrong: the bias is left out."""


@triton.jit
def linear(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, multiplier, negative_slope, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
    y += tl.load(b_ptr + n, mask=n < N)[None, :]  # wrong: pass
    y = y * multiplier
    y = tl.where(y > 0, y, y * negative_slope)
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


def kernel_function(x, weight, bias, multiplier, negative_slope):
    x = x.contiguous()
    (M, K), N = x.shape, weight.shape[0]
    y = torch.empty(M, N, device=x.device, dtype=x.dtype)
    linear[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, weight, bias, y, M, N, K, multiplier, negative_slope, BLOCK=32)
    return y
