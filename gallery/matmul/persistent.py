"""Matrix product, one program per multiprocessor, each working through its tiles of C by pointers.

Idea: as starter.py, but a program goes on to its next tile without ending, and FLATTEN makes one pipelined loop of
tiles and steps: the first strips of the next tile are fetched while the last one is multiplied and stored.
Must do: 2 * M * N * K FLOP on the tensor cores; M*K + K*N + M*N elements, which is the limit only for small K.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    for number in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=FLATTEN == 1):
        # Tiles run down a band of GROUP_M rows before they move one column to the right; the last band may be lower.
        band = number // (GROUP_M * tiles_n)
        band_height = tl.minimum(tiles_m - band * GROUP_M, GROUP_M)
        within = number % (GROUP_M * tiles_n)
        m_start = (band * GROUP_M + within % band_height) * BLOCK_M
        n_start = within // band_height * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(steps):
            # Indices are made from their starts in each step: carried from step to step in a flattened loop, the
            # compiler would no longer know that they follow one another, and would not fetch them asynchronously.
            m = (m_start + tl.arange(0, BLOCK_M))[:, None]  # (BLOCK_M, 1)
            n = (n_start + tl.arange(0, BLOCK_N))[None, :]  # (1, BLOCK_N)
            k_row = (step * BLOCK_K + tl.arange(0, BLOCK_K))[None, :]
            k_column = (step * BLOCK_K + tl.arange(0, BLOCK_K))[:, None]
            # Zeros past the edge of K add nothing; those past M and N are masked again at the store.
            a = tl.load(a_ptr + m.to(tl.int64) * K + k_row, mask=(m < M) & (k_row < K), other=0.0)
            b = tl.load(b_ptr + k_column.to(tl.int64) * N + n, mask=(k_column < K) & (n < N), other=0.0)
            acc = tl.dot(a, b, acc, input_precision="ieee")
        m = (m_start + tl.arange(0, BLOCK_M))[:, None]
        n = (n_start + tl.arange(0, BLOCK_N))[None, :]
        tl.store(c_ptr + m.to(tl.int64) * N + n, acc, mask=(m < M) & (n < N))


def kernel_function(A, B):
    A = A.contiguous()
    B = B.contiguous()
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=A.dtype, device=A.device)
    # Four-byte elements take twice the room and find no tensor cores (every product is exact): half the sides.
    wide = A.element_size() // 2
    BLOCK_M = 128
    BLOCK_N = 256
    BLOCK_K = 64
    tiles = triton.cdiv(M, BLOCK_M // wide) * triton.cdiv(N, BLOCK_N // wide)
    programs = torch.cuda.get_device_properties(A.device).multi_processor_count
    matmul_kernel[(min(tiles, programs),)](
        A, B, C, M, N, K,
        BLOCK_M=BLOCK_M // wide, BLOCK_N=BLOCK_N // wide, BLOCK_K=BLOCK_K // wide, GROUP_M=8, FLATTEN=1,
        num_warps=8, num_stages=3,
    )  # fmt: skip
    return C
