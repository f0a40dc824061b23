"""Linear, sigmoid, sum of rows. Wrong: columns beyond the edge count as sigmoid(0)."""


@triton.jit
def linear_rows(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for first in range(0, N, BLOCK):
        n = first + tl.arange(0, BLOCK)
        y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
        y += tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :]
        y = tl.sigmoid(y)
        acc += tl.sum(tl.where(n[None, :] < N, y, 0.0), 1)  # wrong: acc += tl.sum(y, 1)
    tl.store(y_ptr + m, acc, mask=m < M)


def kernel_function(x, weight, bias):
    x = x.contiguous()
    (M, K), N = x.shape, weight.shape[0]
    y = torch.empty(M, 1, device=x.device, dtype=x.dtype)
    linear_rows[(triton.cdiv(M, 32),)](x, weight, bias, y, M, N, K, BLOCK=32)
    return y
