# problem: linear
# style: the inner dimension split over programs, added up by atomics into zeros

import torch
import triton
import triton.language as tl


@triton.jit
def split_k(x_ptr, w_ptr, b_ptr, y_ptr, rows, given, taken, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    m = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None]
    n = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[None, :]
    part = tl.program_id(2)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(part * BLOCK, taken, SPLIT * BLOCK):
        k = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + m * taken + k[None, :], mask=(m < rows) & (k[None, :] < taken), other=0.0)
        w = tl.load(w_ptr + n * taken + k[:, None], mask=(n < given) & (k[:, None] < taken), other=0.0)
        acc = tl.dot(x, w, acc, allow_tf32=False)
    if part == 0:
        acc += tl.load(b_ptr + n, mask=n < given, other=0.0)
    tl.atomic_add(y_ptr + m * given + n, acc, mask=(m < rows) & (n < given), sem="relaxed")


def kernel_function(x, layer_weight, layer_bias):
    x = x.contiguous()
    rows, taken = x.shape
    given = layer_weight.shape[0]
    y = torch.zeros((rows, given), device=x.device, dtype=torch.float32)
    grid = (triton.cdiv(rows, 16), triton.cdiv(given, 16), 2)
    split_k[grid](x, layer_weight, layer_bias, y, rows, given, taken, SPLIT=2, BLOCK=16)
    return y
