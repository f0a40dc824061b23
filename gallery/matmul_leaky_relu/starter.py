"""Matrix product and leaky ReLU in one kernel, one program per tile of C.

Idea: each program multiplies a strip of A by a strip of B in steps of BLOCK_K, adds up in float32 and applies the
activation to the sums before they are rounded. Programs are numbered so that GROUP_M tiles of one column of C run
together and share their strip of B in L2.
Must do: 2 * M * N * K FLOP on the tensor cores; M*K + K*N + M*N elements, which is the limit only for small K.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_leaky_relu_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, negative_slope,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    # Tiles run down a band of GROUP_M rows before they move one column to the right; the last band may be lower.
    tile = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    band = tile // (GROUP_M * tiles_n)
    band_height = tl.minimum(tl.cdiv(M, BLOCK_M) - band * GROUP_M, GROUP_M)
    within = tile % (GROUP_M * tiles_n)
    tile_m = band * GROUP_M + within % band_height
    tile_n = within // band_height

    m = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]  # (BLOCK_M, 1)
    n = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)[None, :]  # (1, BLOCK_N)
    k_row = tl.arange(0, BLOCK_K)[None, :]
    k_column = tl.arange(0, BLOCK_K)[:, None]

    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        # Zeros past the edge of K add nothing; those past M and N are masked again at the store.
        a = tl.load(a_ptr + m * K + (start + k_row), mask=(m < M) & (start + k_row < K), other=0.0)
        b = tl.load(b_ptr + (start + k_column) * N + n, mask=(start + k_column < K) & (n < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    acc = tl.where(acc >= 0, acc, acc * negative_slope)
    tl.store(c_ptr + m * N + n, acc, mask=(m < M) & (n < N))


def kernel_function(A, B):
    A = A.contiguous()
    B = B.contiguous()
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=A.dtype, device=A.device)
    BLOCK_M = 128
    BLOCK_N = 128
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
    matmul_leaky_relu_kernel[grid](
        A, B, C, M, N, K, 0.01,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=32, GROUP_M=8, num_warps=8, num_stages=3,
    )  # fmt: skip
    return C
