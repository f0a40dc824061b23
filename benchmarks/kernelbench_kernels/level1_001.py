"""Square product. Wrong: operands rounded to half precision."""


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for first in range(0, N, BLOCK):
        k = first + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + m * N + k[None, :], mask=(m < N) & (k[None, :] < N), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=(k[:, None] < N) & (n < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")  # wrong: acc = tl.dot(a.to(tl.float16), b.to(tl.float16), acc)
    tl.store(c_ptr + m * N + n, acc, mask=(m < N) & (n < N))


def kernel_function(A, B):
    A, B = A.contiguous(), B.contiguous()
    C = torch.empty_like(A)
    grid = (triton.cdiv(A.shape[0], 32), triton.cdiv(A.shape[0], 32))
    matmul[grid](A, B, C, A.shape[0], BLOCK=32)
    return C
