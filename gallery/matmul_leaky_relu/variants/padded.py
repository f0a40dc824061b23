"""Matrix product and leaky ReLU with tensor descriptors (TMA); odd sizes cut finer, after one copy of both operands.

Idea: what `host.py` does where all rows begin at multiples of 16 bytes, launch for launch. Elsewhere it takes a copy by
the framework for each operand and one for the product: four launches, 23.6 µs together for 1000 x 777 x 1501. Here
- one small kernel copies both operands into rows that begin at multiples of 16 bytes; nothing is padded with zeros,
  because descriptors know where a row ends;
- the product is stored by pointers into rows as they are asked for, and no copy comes after it;
- where there are fewer large tiles than multiprocessors, they are cut so that nearly all have one;
- a float32 product of few tiles is one kernel that reads A and B where they lie, four bytes a lane: it is over sooner
  than a copy would be begun. Every product is exact, so it is a matter of many small tiles and all of K on its way.
Must do: 2 * M * N * K FLOP; M*K + K*N + M*N elements. The copy adds M*K + K*N elements read and written.
Decides: for the 1000x777x1501_fp16 case ODD_* (tiles that 132 multiprocessors share, against what they fetch twice),
for 515x260x129_fp32 EXACT_* (programs on a multiprocessor, and how little of the last step along K is beyond K).
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def tile_at(number, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    # Tiles run down a band of GROUP_M rows before they move one column to the right; the last band may be lower.
    band = number // (GROUP_M * tiles_n)
    height = tl.minimum(tiles_m - band * GROUP_M, GROUP_M)
    within = number % (GROUP_M * tiles_n)
    return band * GROUP_M + within % height, within // height


@triton.jit
def halves(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    # (ROWS, COLUMNS) to its left and its right half
    return tl.split(tl.permute(tl.reshape(tile, (ROWS, 2, COLUMNS // 2)), (0, 2, 1)))


@triton.jit
def leaky_relu(x, negative_slope):
    return tl.maximum(x, x * negative_slope)  # the same as a choice by sign for slopes from 0 to 1


@triton.jit
def matmul_leaky_relu_kernel(
    a, b, c, M, N, K, negative_slope,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    # a, b, c: descriptors of (M, K), (K, N) and (M, N) matrices; they read zeros beyond the edges and store nothing
    # there. A block of c is half a tile wide.
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    for number in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), flatten=True):
        tile_m, tile_n = tile_at(number, tiles_m, tiles_n, GROUP_M)
        m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(steps):
            k = step * BLOCK_K
            acc = tl.dot(a.load([m, k]), b.load([k, n]), acc, input_precision="ieee")
        acc = leaky_relu(acc, negative_slope)
        left, right = halves(acc, BLOCK_M, BLOCK_N)
        c.store([m, n], left.to(c.dtype))
        c.store([m, n + BLOCK_N // 2], right.to(c.dtype))


@triton.jit
def copy_rows(
    x_ptr, even_ptr, block, rows, columns, UNIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    # ROWS rows, COLUMNS of them: loads are scalars, neighbouring lanes loading neighbours, and stores are whole units.
    blocks_of_row = tl.cdiv(columns, COLUMNS)
    first = block % blocks_of_row * COLUMNS
    column = first + tl.arange(0, COLUMNS)
    units = tl.cdiv(columns, UNIT)
    unit = first // UNIT + tl.arange(0, COLUMNS // UNIT)[:, None]
    for offset in tl.static_range(ROWS):
        row = (block // blocks_of_row * ROWS + offset).to(tl.int64)
        x = tl.load(x_ptr + row * columns + column, mask=(column < columns) & (row < rows), other=0.0)
        to = even_ptr + (row * units + unit) * UNIT + tl.arange(0, UNIT)[None, :]
        tl.store(to, tl.reshape(x, (COLUMNS // UNIT, UNIT)), mask=(unit < units) & (row < rows))


@triton.jit
def even_rows_kernel(
    a, b, even_a, even_b, M, N, K, blocks_a, UNIT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    # (M, K) and (K, N) into rows of whole units of 16 bytes; nobody reads what ends the last unit of a row.
    block = tl.program_id(0)
    if block < blocks_a:
        copy_rows(a, even_a, block, M, K, UNIT, ROWS, COLUMNS)
    else:
        copy_rows(b, even_b, block - blocks_a, K, N, UNIT, ROWS, COLUMNS)


@triton.jit
def odd_kernel(
    a, b, c, M, N, K, negative_slope,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    # a, b: descriptors; c: a pointer, because its rows begin anywhere. One tile for each program.
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    tile_m, tile_n = tile_at(tl.program_id(0), tiles_m, tiles_n, GROUP_M)
    m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(steps):
        k = step * BLOCK_K
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc, input_precision="ieee")
    acc = leaky_relu(acc, negative_slope)
    row = m + tl.arange(0, BLOCK_M)[:, None]
    column = n + tl.arange(0, BLOCK_N)[None, :]
    inside = (row < M) & (column < N)
    tl.store(c + row.to(tl.int64) * N + column, acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def exact_kernel(
    a, b, c, M, N, K, negative_slope, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    # a, b, c: pointers to dense matrices. The last tiles repeat the last row, and store the same values again; columns
    # are not repeated, because the compiler has to see that neighbouring ones are neighbours in memory.
    tiles_n = tl.cdiv(N, BLOCK_N)
    row = tl.minimum(tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M), M - 1).to(tl.int64)[:, None]
    column = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    term = tl.arange(0, BLOCK_K)
    from_a = a + row * K + term[None, :]
    from_b = b + term[:, None] * N + column
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        strip_a = tl.load(from_a, mask=(term < K - k)[None, :], other=0.0)
        strip_b = tl.load(from_b, mask=(term < K - k)[:, None] & (column < N), other=0.0)
        acc = tl.dot(strip_a, strip_b, acc, input_precision="ieee")
        from_a += BLOCK_K
        from_b += BLOCK_K * N
    acc = leaky_relu(acc, negative_slope)
    tl.store(c + row * N + column, acc, mask=column < N)


BLOCK_M = 128
BLOCK_N = 256
BLOCK_K = 64
GROUP_M = 16
WARPS = 8
STAGES = 4

# Of odd sizes with fewer large tiles than multiprocessors.
ODD_M = 64
ODD_N = 128
ODD_K = 64
ODD_WARPS = 4
ODD_STAGES = 6
COPY_ROWS = 2
COPY_COLUMNS = 1024
COPY_WARPS = 4

# Of few tiles in float32.
EXACT_M = 32
EXACT_N = 32
EXACT_K = 32
EXACT_WARPS = 2
EXACT_STAGES = 5


def even(x):
    return x.shape[1] * x.element_size() % 16 == 0


def with_even_rows(A, B):
    """Both, where needed copied into memory whose rows begin at multiples of 16 bytes, as descriptors ask for."""
    if even(A) and even(B):
        return A, B
    unit = 16 // A.element_size()
    copies, blocks = [], []
    for x in (A, B):
        rows, columns = x.shape
        copy = x if even(x) else torch.empty((rows, triton.cdiv(columns, unit) * unit), dtype=x.dtype, device=x.device)
        copies.append(copy)
        blocks.append(0 if even(x) else triton.cdiv(rows, COPY_ROWS) * triton.cdiv(columns, COPY_COLUMNS))
    (M, K), N = A.shape, B.shape[1]
    even_rows_kernel[(sum(blocks),)](
        A, B, *copies, M, N, K, blocks[0],
        UNIT=unit, ROWS=COPY_ROWS, COLUMNS=COPY_COLUMNS, num_warps=COPY_WARPS,
    )  # fmt: skip
    return copies[0][:, :K], copies[1][:, :N]


def described(x, rows, columns):
    """The descriptor of x in blocks of (rows, columns)."""
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [rows, columns])


def exact_product(A, B, C):
    (M, K), N = A.shape, B.shape[1]
    exact_kernel[(triton.cdiv(M, EXACT_M) * triton.cdiv(N, EXACT_N),)](
        A, B, C, M, N, K, 0.01, BLOCK_M=EXACT_M, BLOCK_N=EXACT_N, BLOCK_K=EXACT_K,
        num_warps=EXACT_WARPS, num_stages=EXACT_STAGES,
    )  # fmt: skip


def odd_product(A, B, C, multiprocessors):
    (M, K), N = A.shape, B.shape[1]
    block_m, block_n, block_k, warps, stages = BLOCK_M, BLOCK_N, BLOCK_K, WARPS, STAGES
    if triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N) < multiprocessors:
        block_m, block_n, block_k, warps, stages = ODD_M, ODD_N, ODD_K, ODD_WARPS, ODD_STAGES
    odd_kernel[(triton.cdiv(M, block_m) * triton.cdiv(N, block_n),)](
        described(A, block_m, block_k), described(B, block_k, block_n), C, M, N, K, 0.01,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=GROUP_M, num_warps=warps, num_stages=stages,
    )  # fmt: skip


def kernel_function(A, B):
    A, B = A.contiguous(), B.contiguous()
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=A.dtype, device=A.device)
    multiprocessors = torch.cuda.get_device_properties(A.device).multi_processor_count
    # Four-byte elements take twice the room and find no tensor cores (every product is exact): half the sides. Half
    # again where there are fewer tiles than multiprocessors.
    smaller = A.element_size() // 2
    warps = WARPS
    if triton.cdiv(M, BLOCK_M // smaller) * triton.cdiv(N, BLOCK_N // smaller) < multiprocessors:
        if A.element_size() == 4:
            exact_product(A, B, C)
            return C
        smaller, warps = smaller * 2, WARPS // 2
    A, B = with_even_rows(A, B)
    if not even(C):
        odd_product(A, B, C, multiprocessors)
        return C
    block_m, block_n, block_k = BLOCK_M // smaller, BLOCK_N // smaller, BLOCK_K // (A.element_size() // 2)
    tiles = triton.cdiv(M, block_m) * triton.cdiv(N, block_n)
    programs = triton.cdiv(tiles, triton.cdiv(tiles, multiprocessors))
    matmul_leaky_relu_kernel[(programs,)](
        described(A, block_m, block_k), described(B, block_k, block_n), described(C, block_m, block_n // 2),
        M, N, K, 0.01,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=GROUP_M,
        num_warps=warps, num_stages=STAGES,
    )  # fmt: skip
    return C
