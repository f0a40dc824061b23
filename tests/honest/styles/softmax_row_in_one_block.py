# problem: softmax
# style: one program per row, the block as wide as the row

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + lanes, mask=lanes < cols, other=-float("inf"))
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    tl.store(y_ptr + row * cols + lanes, e / tl.sum(e, axis=0), mask=lanes < cols)


def kernel_function(x):
    rows, cols = x.shape
    y = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
    softmax_kernel[(rows,)](x.contiguous(), y, cols, cols, BLOCK=triton.next_power_of_2(cols))
    return y
