"""A vector of accumulators with Kahan's compensation, tuples in a loop."""

import triton
import triton.language as tl


@triton.jit
def compensated(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    lost = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0) - lost
        new = total + x
        lost, total = (new - total) - x, new
    tl.store(y_ptr + row, tl.sum(total, axis=0))


def kernel_function(x):
    x = x.contiguous()
    y = x.new_empty(x.size(0))
    compensated[x.size(0),](x, y, x.size(1), 64)
    return y
