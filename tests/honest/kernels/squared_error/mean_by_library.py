"""the loss of each row, averaged by the framework's mean, as many published losses end"""

import torch
import triton
import triton.language as tl


@triton.jit
def row_error_kernel(x_ptr, y_ptr, loss_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row * columns + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(loss_ptr + row, tl.sum((x - y) * (x - y), axis=0) / columns)


def kernel_function(x, y):
    x, y = x.contiguous(), y.contiguous()
    rows, columns = x.shape
    loss = torch.empty(rows, dtype=torch.float32, device=x.device)
    row_error_kernel[(rows,)](x, y, loss, columns, BLOCK=128)
    return loss.mean().to(x.dtype)
