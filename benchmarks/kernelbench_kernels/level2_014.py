"""Product, divide, sum of rows, scale. Wrong: the division is left out."""


@triton.jit
def linear_rows(x_ptr, w_ptr, y_ptr, M, N, K, scaling_factor, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for first in range(0, N, BLOCK):
        n = first + tl.arange(0, BLOCK)
        y = product(x_ptr, w_ptr, m, n, M, N, K, K, 1, 1, K, BLOCK)
        acc += tl.sum(y, 1)
    acc = acc / 2.0 * scaling_factor  # wrong: acc = acc * scaling_factor
    tl.store(y_ptr + m, acc, mask=m < M)


def kernel_function(x, weight, scaling_factor):
    x = x.contiguous()
    (M, K), N = x.shape, weight.shape[0]
    y = torch.empty(M, 1, device=x.device, dtype=x.dtype)
    linear_rows[(triton.cdiv(M, 32),)](x, weight, y, M, N, K, scaling_factor, BLOCK=32)
    return y
