"""Linear, Swish, bias, group norm, in two kernels. Wrong: the bias is added before Swish."""


@triton.jit
def linear_swish(x_ptr, w_ptr, b_ptr, c_ptr, y_ptr, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
    y += tl.load(b_ptr + n, mask=n < N)[None, :]
    c = tl.load(c_ptr + n, mask=n < N)[None, :]
    y = y * tl.sigmoid(y) + c  # wrong: y = (y + c) * tl.sigmoid(y + c)
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def group_norm(x_ptr, w_ptr, b_ptr, y_ptr, groups, size, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    inside = place < size
    channel = tl.program_id(0) % groups * size + place
    x = tl.load(x_ptr + tl.program_id(0) * size + place, mask=inside, other=0.0)
    centred = tl.where(inside, x - tl.sum(x, 0) / size, 0.0)
    y = centred * tl.rsqrt(tl.sum(centred * centred, 0) / size + 1e-5)
    y = y * tl.load(w_ptr + channel, mask=inside) + tl.load(b_ptr + channel, mask=inside)
    tl.store(y_ptr + tl.program_id(0) * size + place, y, mask=inside)


def kernel_function(x, matmul_weight, matmul_bias, bias, group_norm_weight, group_norm_bias, num_groups):
    x = x.contiguous()
    (M, K), N = x.shape, matmul_weight.shape[0]
    hidden = torch.empty(M, N, device=x.device, dtype=x.dtype)
    y = torch.empty_like(hidden)
    size = N // num_groups
    linear_swish[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, matmul_weight, matmul_bias, bias, hidden, M, N, K, BLOCK=32)
    group_norm[(M * num_groups,)](
        hidden, group_norm_weight, group_norm_bias, y, num_groups, size, BLOCK=triton.next_power_of_2(size)
    )
    return y
