# irregular_product, trial 7, round 1: tune of 5, by builtin
# passed: 3.241 ms in the search
# confirmation passed: 3.263 ms
# library: no library step; LIBRARY = 'finish'
# on NVIDIA H200; torch 2.11.0+cu130, Triton 3.6.0
# config: BLOCK_K=32, BLOCK_M=64, BLOCK_N=128, GROUP=8, NUM_STAGES=3, NUM_WARPS=4, pad_rows.num_warps=2, split_columns.num_warps=4

"""A product of matrices with odd sides: padded copies, so that the product needs no mask and loads four numbers at once.

Idea: a row of 2949 numbers begins at no multiple of 16 bytes, so that each number is loaded by itself, and tensor cores
read 32-bit factors along the depth only. The copies take 0.2 ms: A with rows of a multiple of 64 numbers, B transposed,
and split into the parts that TF32 holds. The product is A's high and low parts (split in registers) times B's, three
products in all, in registers of their own for each step, because tensor cores round long sums less carefully.
Must move: A and B once, their copies twice, out once.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def high_and_low(x):
    # Both have 11 bits, so that tensor cores multiply them exactly; of infinity there is no low part.
    high = (x.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    low = ((x - high).to(tl.int32, bitcast=True) + 4096) & -8192
    is_finite = tl.abs(x) < float("inf")
    return tl.where(is_finite, high, x), tl.where(is_finite, low.to(tl.float32, bitcast=True), 0.0)


@triton.jit
def pad_rows(x_ptr, out_ptr, rows, columns, padded, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + row * columns + column, mask=(row < rows) & (column < columns), other=0.0)
    tl.store(out_ptr + row * padded + column, x)


@triton.jit
def split_columns(
    x_ptr, high_ptr, low_ptr, rows, columns, padded, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + row * columns + column, mask=(row < rows) & (column < columns), other=0.0)
    high, low = high_and_low(tl.trans(x))
    place = tl.trans(column * padded + row)
    tl.store(high_ptr + place, high)
    tl.store(low_ptr + place, low)


@triton.jit
def multiply(
    a_ptr, high_ptr, low_ptr, out_ptr, rows, columns, padded,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    down = tl.cdiv(rows, BLOCK_M)
    across = tl.cdiv(columns, BLOCK_N)
    first = tl.program_id(0) // (GROUP * across) * GROUP
    size = tl.minimum(down - first, GROUP)
    within = tl.program_id(0) % (GROUP * across)
    row = (first + within % size) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = within // size * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + row[:, None] * padded + depth[None, :]
    b_tile = depth[:, None] + column[None, :] * padded
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, padded, BLOCK_K):
        b_high = tl.load(high_ptr + b_tile)
        b_low = tl.load(low_ptr + b_tile)
        a_high, a_low = high_and_low(tl.load(a_tile))
        part = tl.dot(a_low, b_high, input_precision="tf32")
        part = tl.dot(a_high, b_low, part, input_precision="tf32")
        part = tl.where(part == part, part, 0.0)  # zero times infinity must not count
        total += tl.dot(a_high, b_high, part, input_precision="tf32")
        a_tile += BLOCK_K
        b_tile += BLOCK_K
    out = out_ptr + row[:, None] * columns + column[None, :]
    tl.store(out, total, mask=(row < rows)[:, None] & (column < columns)[None, :])


BLOCK_M = 64
BLOCK_N = 128
BLOCK_K = 32
GROUP = 8
NUM_WARPS = 4
NUM_STAGES = 3


def kernel_function(A, B):
    A = A.contiguous()
    B = B.contiguous()
    M, K = A.shape
    N = B.shape[1]
    rows = triton.cdiv(M, 256) * 256
    depth = triton.cdiv(K, 64) * 64
    columns = triton.cdiv(N, 256) * 256
    padded = torch.empty((rows, depth), device=A.device, dtype=torch.float32)
    high = torch.empty((columns, depth), device=A.device, dtype=torch.float32)
    low = torch.empty((columns, depth), device=A.device, dtype=torch.float32)
    out = torch.empty((M, N), device=A.device, dtype=torch.float32)
    pad_rows[(rows // 32, depth // 64)](A, padded, M, K, depth, ROWS=32, COLUMNS=64, num_warps=2)
    split_columns[(depth // 64, columns // 64)](B, high, low, K, N, depth, ROWS=64, COLUMNS=64, num_warps=4)
    multiply[(triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)](
        padded, high, low, out, M, N, depth, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP=GROUP,
        num_warps=NUM_WARPS, num_stages=NUM_STAGES,
    )
    return out
