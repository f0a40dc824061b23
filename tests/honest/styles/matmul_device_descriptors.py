# problem: matmul
# style: tensor descriptors made in the kernel, with an allocator set by the host

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

TILE = 16


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, TILE: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[stride_a, 1], block_shape=[TILE, TILE])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[stride_b, 1], block_shape=[TILE, TILE])
    m, n = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    acc = tl.zeros((TILE, TILE), tl.float32)
    for k in range(0, K, TILE):
        acc += tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), input_precision="ieee")
    rows, cols = (m + tl.arange(0, TILE))[:, None], (n + tl.arange(0, TILE))[None, :]
    tl.store(c_ptr + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def allocate(size: int, alignment: int, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


def kernel_function(a, b):
    (M, K), N = a.shape, b.shape[1]
    a, b = F.pad(a, (0, -K % 4)), F.pad(b, (0, -N % 4))
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    triton.set_allocator(allocate)
    grid = (triton.cdiv(M, TILE), triton.cdiv(N, TILE))
    product[grid](a, b, c, M, N, K, a.stride(0), b.stride(0), TILE=TILE)
    return c
