"""A grid of three dimensions, constructor arguments, windows unrolled by static_range."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_pool(x_ptr, y_ptr, H, W, OH, OW, K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    plane, oh = tl.program_id(2), tl.program_id(1)
    ow = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    for i in tl.static_range(K):
        for j in tl.static_range(K):
            h, w = oh * S - P + i, ow * S - P + j
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
            x = tl.load(x_ptr + (plane * H + h) * W + w, mask=inside, other=-float("inf"))
            best = tl.maximum(best, x, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + (plane * OH + oh) * OW + ow, best, mask=ow < OW)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x):
        n, c, h, w = x.shape
        oh = (h + 2 * self.padding - self.kernel_size) // self.stride + 1
        ow = (w + 2 * self.padding - self.kernel_size) // self.stride + 1
        y = torch.empty((n, c, oh, ow), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(ow, 16), oh, n * c)
        max_pool[grid](x.contiguous(), y, h, w, oh, ow, K=self.kernel_size, S=self.stride, P=self.padding, BLOCK=16)
        return y
