"""Split-K: programs add their parts atomically into zeroed single-precision memory, which is cast at the end."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_split_k(
    a_ptr, b_ptr, sum_ptr, M, N, K, SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    part = tl.program_id(2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(part * BK, K, SPLIT * BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        acc += tl.dot(a, b)
    tl.atomic_add(sum_ptr + m * N + n, acc, mask=(m < M) & (n < N), sem="relaxed")


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        total = torch.zeros((M, N), device=a.device, dtype=torch.float32)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), 2)
        matmul_split_k[grid](a, b, total, M, N, K, SPLIT=2, BM=32, BN=32, BK=16)
        return total.to(a.dtype)
