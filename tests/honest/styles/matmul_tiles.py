# problem: matmul
# style: tiles with masks, arguments by position

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * K + k[None, :]
    b_ptrs = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for i in range(tl.cdiv(K, BK)):
        left = K - i * BK
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def kernel_function(a, b):
    assert a.shape[1] == b.shape[0], "the inner sizes differ"
    a, b = a.contiguous(), b.contiguous()
    M, K = a.shape
    _, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    matmul_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, 16, 16, 16)
    return c
