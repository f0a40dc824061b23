import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, count_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + k, mask=k < columns, other=0.0)
    count = tl.load(count_ptr + row)
    tl.store(out_ptr + row, tl.sum(x, axis=0) / count)


class ModelNew(nn.Module):
    def forward(self, x, counts):
        x, counts = x.contiguous(), counts.contiguous()
        rows, columns = x.shape
        out = torch.empty((rows,), dtype=x.dtype, device=x.device)
        mean_kernel[(rows,)](x, counts, out, columns, BLOCK=64)
        return out
