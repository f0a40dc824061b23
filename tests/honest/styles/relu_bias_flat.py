# problem: relu_bias
# style: one flat index, the column by remainder; tl.maximum

import torch
import triton
import triton.language as tl


@triton.jit
def relu_bias(x_ptr, bias_ptr, y_ptr, count, cols, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < count
    x = tl.load(x_ptr + i, mask=inside)
    b = tl.load(bias_ptr + i % cols, mask=inside)
    tl.store(y_ptr + i, tl.maximum(x, 0.0) + b, mask=inside)


def kernel_function(x, bias):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    relu_bias[(triton.cdiv(n, 256),)](x, bias, y, n, x.shape[-1], BLOCK=256)
    return y
