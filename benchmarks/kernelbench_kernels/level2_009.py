"""Linear, subtract, multiply, ReLU. Wrong: multiplied before the subtraction."""


@triton.jit
def linear(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, subtract_value, multiply_value, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
    y += tl.load(b_ptr + n, mask=n < N)[None, :]
    y = tl.maximum((y - subtract_value) * multiply_value, 0.0)  # wrong: y = tl.maximum(y * multiply_value - subtract_value, 0.0)
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


def kernel_function(x, weight, bias, subtract_value, multiply_value):
    x = x.contiguous()
    (M, K), N = x.shape, weight.shape[0]
    y = torch.empty(M, N, device=x.device, dtype=x.dtype)
    linear[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, weight, bias, y, M, N, K, subtract_value, multiply_value, BLOCK=32)
    return y
