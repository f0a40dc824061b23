"""Product with A transposed. Wrong: no mask at the edge of K."""


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for first in range(0, K, BLOCK):
        k = first + tl.arange(0, BLOCK)
        inside = k < K  # wrong: inside = k < first + BLOCK
        a = tl.load(a_ptr + k[None, :] * M + m, mask=(m < M) & inside[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=inside[:, None] & (n < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + m * N + n, acc, mask=(m < M) & (n < N))


def kernel_function(A, B):
    A, B = A.contiguous(), B.contiguous()
    C = torch.empty(A.shape[1], B.shape[1], device=A.device, dtype=A.dtype)
    grid = (triton.cdiv(A.shape[1], 32), triton.cdiv(B.shape[1], 32))
    matmul[grid](A, B, C, A.shape[1], B.shape[1], A.shape[0], BLOCK=32)
    return C
