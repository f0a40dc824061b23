"""Linear, sigmoid, linear, log-sum-exp. Wrong: the maximum is not subtracted."""


@triton.jit
def linear_sigmoid(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
    y = tl.sigmoid(y + tl.load(b_ptr + n, mask=n < N)[None, :])
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def linear_log_sum(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    peak = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, N, BLOCK):
        n = first + tl.arange(0, BLOCK)
        y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
        y = tl.where(n[None, :] < N, y + tl.load(b_ptr + n, mask=n < N)[None, :], float("-inf"))
        above = tl.maximum(peak, tl.max(y, 1))  # wrong: above = tl.zeros((BLOCK,), tl.float32)
        total = total * tl.exp(peak - above) + tl.sum(tl.exp(y - above[:, None]), 1)
        peak = above
    tl.store(y_ptr + m, tl.log(total) + peak, mask=m < M)


def kernel_function(x, linear1_weight, linear1_bias, linear2_weight, linear2_bias):
    x = x.contiguous()
    (M, K), H, N = x.shape, linear1_weight.shape[0], linear2_weight.shape[0]
    hidden = torch.empty(M, H, device=x.device, dtype=x.dtype)
    y = torch.empty(M, device=x.device, dtype=x.dtype)
    linear_sigmoid[(triton.cdiv(M, 32), triton.cdiv(H, 32))](x, linear1_weight, linear1_bias, hidden, M, H, K, BLOCK=32)
    linear_log_sum[(triton.cdiv(M, 32),)](hidden, linear2_weight, linear2_bias, y, M, N, H, BLOCK=32)
    return y
