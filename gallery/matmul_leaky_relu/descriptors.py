"""Matrix product and leaky ReLU in one kernel, with tensor descriptors (TMA), one program per multiprocessor.

Idea: the copy engine fetches whole tiles of A and B into shared memory, so that no thread computes addresses or
holds them in registers. One program per multiprocessor works through its tiles of C, and the fetches of the next tile
overlap the store of the last: FLATTEN makes one pipelined loop of tiles and steps; WARP_SPECIALIZE, instead of it and
with num_warps=4, gives the fetches to four warps and the product to eight others (Hopper, Triton 3.6 and later).
EPILOGUE_SUBTILE stores a tile in so many parts, which leaves shared memory to one more stage; Triton 3.6 cannot
compile that together with specialised warps.
Must do: 2 * M * N * K FLOP on the tensor cores; M*K + K*N + M*N elements, which is the limit only for small K.
"""

import torch
import triton
import triton.language as tl


def scratch(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


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
def matmul_leaky_relu_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, b_row, c_row, negative_slope,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EPILOGUE_SUBTILE: tl.constexpr, FLATTEN: tl.constexpr, WARP_SPECIALIZE: tl.constexpr,
):  # fmt: skip
    # Made here and not on the host, because warps that are specialised need them cut in two along M. They read zeros
    # beyond the edges and store nothing there. a_row, b_row, c_row: elements from one row to the next.
    PART_N: tl.constexpr = BLOCK_N // EPILOGUE_SUBTILE
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [a_row, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [b_row, 1], [BLOCK_K, BLOCK_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [c_row, 1], [BLOCK_M, PART_N])
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    for number in tl.range(
        tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0),
        flatten=FLATTEN == 1, warp_specialize=WARP_SPECIALIZE == 1,
    ):  # fmt: skip
        tile_m, tile_n = tile_at(number, tiles_m, tiles_n, GROUP_M)
        m, n = tile_m * BLOCK_M, tile_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(steps):
            k = step * BLOCK_K
            acc = tl.dot(a.load([m, k]), b.load([k, n]), acc, input_precision="ieee")
        acc = tl.where(acc >= 0, acc, acc * negative_slope)
        if EPILOGUE_SUBTILE == 1:
            c.store([m, n], acc.to(c.dtype))
        elif EPILOGUE_SUBTILE == 2:
            left, right = halves(acc, BLOCK_M, BLOCK_N)
            c.store([m, n], left.to(c.dtype))
            c.store([m, n + PART_N], right.to(c.dtype))
        else:
            tl.static_assert(EPILOGUE_SUBTILE == 4, "a tile is stored in 1, 2 or 4 parts")
            left, right = halves(acc, BLOCK_M, BLOCK_N)
            first, second = halves(left, BLOCK_M, 2 * PART_N)
            third, fourth = halves(right, BLOCK_M, 2 * PART_N)
            c.store([m, n], first.to(c.dtype))
            c.store([m, n + PART_N], second.to(c.dtype))
            c.store([m, n + 2 * PART_N], third.to(c.dtype))
            c.store([m, n + 3 * PART_N], fourth.to(c.dtype))


def even_rows(rows, columns, like):
    """Memory for a (rows, columns) matrix whose rows begin at multiples of 16 bytes, as descriptors ask for."""
    unit = 16 // like.element_size()
    wider = torch.empty((rows, triton.cdiv(columns, unit) * unit), dtype=like.dtype, device=like.device)
    return wider[:, :columns]


def with_even_rows(x):
    if x.shape[1] * x.element_size() % 16 == 0:
        return x.contiguous()
    even = even_rows(*x.shape, x)
    even.copy_(x)
    return even


def kernel_function(A, B):
    triton.set_allocator(scratch)
    A, B = with_even_rows(A), with_even_rows(B)
    M, K = A.shape
    N = B.shape[1]
    C = even_rows(M, N, A)
    # Four-byte elements take twice the room and find no tensor cores (every product is exact): half the sides.
    wide = A.element_size() // 2
    BLOCK_M = 128
    BLOCK_N = 256
    BLOCK_K = 64
    WARP_SPECIALIZE = 0
    tiles = triton.cdiv(M, BLOCK_M // wide) * triton.cdiv(N, BLOCK_N // wide)
    programs = min(tiles, torch.cuda.get_device_properties(A.device).multi_processor_count)
    matmul_leaky_relu_kernel[(programs,)](
        A, B, C, M, N, K, A.stride(0), B.stride(0), C.stride(0), 0.01,
        BLOCK_M=BLOCK_M // wide, BLOCK_N=BLOCK_N // wide, BLOCK_K=BLOCK_K // wide, GROUP_M=16,
        EPILOGUE_SUBTILE=2, FLATTEN=1, WARP_SPECIALIZE=WARP_SPECIALIZE // wide, num_warps=8, num_stages=3,
    )  # fmt: skip
    return C.contiguous()
