"""What stands before each kernel of this folder: imports, the tile of a product and PyTorch's GELU."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def product(a_ptr, b_ptr, m, n, M, N, K, a_m, a_k, b_k, b_n, BLOCK: tl.constexpr):
    """Rows m and columns n of A (M, K) times B (K, N), with strides; zeros outside."""
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + m[:, None] * a_m + k[None, :] * a_k, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_k + n[None, :] * b_n, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    return acc


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476))
