"""Linear, scale, batch norm. Wrong: the running mean is not scaled with the rest, but after it."""


@triton.jit
def linear(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, scale_ptr, mean_ptr, var_ptr, gain_ptr, shift_ptr, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
    y += tl.load(b_ptr + n, mask=n < N)[None, :]
    scale = tl.load(scale_ptr + n, mask=n < N)[None, :]
    mean = tl.load(mean_ptr + n, mask=n < N)[None, :]
    variance = tl.load(var_ptr + n, mask=n < N, other=1.0)[None, :]
    y = (y * scale - mean) * tl.rsqrt(variance + 1e-5)  # wrong: y = (y - mean) * scale * tl.rsqrt(variance + 1e-5)
    y = y * tl.load(gain_ptr + n, mask=n < N)[None, :] + tl.load(shift_ptr + n, mask=n < N)[None, :]
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


def kernel_function(x, gemm_weight, gemm_bias, scale, bn_running_mean, bn_running_var, bn_weight, bn_bias):
    x = x.contiguous()
    (M, K), N = x.shape, gemm_weight.shape[0]
    y = torch.empty(M, N, device=x.device, dtype=x.dtype)
    norm = (scale, bn_running_mean, bn_running_var, bn_weight, bn_bias)
    linear[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, gemm_weight, gemm_bias, y, M, N, K, *norm, BLOCK=32)
    return y
