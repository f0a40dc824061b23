"""The host pads rows to a power of two with -inf, the kernel needs no mask, and the host slices the result."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def softmax_padded(x_ptr, out_ptr, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(x_ptr + at)
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + at, numerator / tl.sum(numerator, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        columns = x.shape[-1]
        width = triton.next_power_of_2(columns)
        padded = F.pad(x, (0, width - columns), value=float("-inf")).contiguous()
        out = torch.empty_like(padded)
        softmax_padded[(x.shape[0],)](padded, out, WIDTH=width)
        return out[:, :columns].contiguous()
