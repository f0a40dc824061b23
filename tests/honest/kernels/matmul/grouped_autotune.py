"""Grouped program order in a helper kernel, and a space of configs from a list comprehension with a loop."""

import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BM": bm, "BN": bn, "BK": 16, "GROUP": 4}, num_warps=w, num_stages=s)
    for bm in (16, 32)
    for bn in (16, 32)
    for w, s in ((2, 2), (4, 3))
]


@triton.jit
def swizzled(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    width = GROUP * tiles_n
    first = (pid // width) * GROUP
    height = min(tiles_m - first, GROUP)
    return first + (pid % width) % height, (pid % width) // height


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul_grouped(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = swizzled(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    m = (pid_m * BM + tl.arange(0, BM))[:, None]
    n = (pid_n * BN + tl.arange(0, BN))[None, :]
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + (m * K + k[None, :])
    b_ptrs = b_ptr + (k[:, None] * N + n)
    accumulator = tl.zeros((BM, BN), dtype=tl.float32)
    for block in tl.range(0, tl.cdiv(K, BK)):
        left = K - block * BK
        a = tl.load(a_ptrs, mask=(m < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < left) & (n < N), other=0.0)
        accumulator += tl.dot(a, b)
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c_ptr + m * N + n, accumulator.to(c_ptr.dtype.element_ty), mask=(m < M) & (n < N))


def kernel_function(a, b):
    a, b = a.contiguous(), b.contiguous()
    M, K = a.shape
    N = b.shape[1]
    c = a.new_empty(M, N)

    def grid(META):
        return (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)

    matmul_grouped[grid](a, b, c, M, N, K)
    return c
