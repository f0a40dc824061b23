"""Block pointers that advance along K, and the transpose of an operand passed as a view."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_blocks(
    a_ptr, bt_ptr, c_ptr, M, N, K, stride_bn, stride_bk,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (m, 0), (BM, BK), (1, 0))
    b = tl.make_block_ptr(bt_ptr, (N, K), (stride_bn, stride_bk), (n, 0), (BN, BK), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        left = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(b, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(left, tl.trans(right))
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (0, BK))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (m, n), (BM, BN), (1, 0))
    tl.store(c, acc.to(tl.float16), boundary_check=(0, 1))


def kernel_function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a = a.contiguous()
    bt = b.transpose(0, 1)
    M, K = a.shape
    N = bt.shape[0]
    c = torch.empty(M, N, dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), 1)
    matmul_blocks[grid](a, bt, c, M, N, K, bt.stride(0), bt.stride(1), BM=16, BN=16, BK=16)
    return c
