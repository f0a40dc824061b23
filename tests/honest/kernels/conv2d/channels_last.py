"""The host pads the image and lays it out channels last, the weight by a permuted copy, and views the result back."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def conv_nhwc(x_ptr, w_ptr, b_ptr, out_ptr, C, N, H, W, BC: tl.constexpr, BN: tl.constexpr, BP: tl.constexpr):
    n = tl.arange(0, BN)
    c = tl.arange(0, BC)
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    image = tl.program_id(1)
    acc = tl.zeros((BP, BN), dtype=tl.float32)
    for tap in tl.static_range(9):
        at = (image * (H + 2) + p // W + tap // 3) * (W + 2) + p % W + tap % 3
        x = tl.load(x_ptr + at[:, None] * C + c[None, :], mask=(p[:, None] < H * W) & (c[None, :] < C), other=0.0)
        w = tl.load(
            w_ptr + (tap * C + c[:, None]) * N + n[None, :], mask=(c[:, None] < C) & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(x, w, acc, input_precision="ieee")
    acc += tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :]
    at = (image * H * W + p[:, None]) * N + n[None, :]
    tl.store(out_ptr + at, acc, mask=(p[:, None] < H * W) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3, padding=1)

    def forward(self, x):
        batch, C, H, W = x.shape
        N = self.conv.weight.shape[0]
        padded = F.pad(x, (1, 1, 1, 1)).permute(0, 2, 3, 1).contiguous()
        taps = self.conv.weight.permute(2, 3, 1, 0).contiguous()
        out = torch.empty((batch, H, W, N), device=x.device, dtype=x.dtype)
        conv_nhwc[(triton.cdiv(H * W, 32), batch)](padded, taps, self.conv.bias, out, C, N, H, W, BC=16, BN=16, BP=32)
        return out.permute(0, 3, 1, 2).contiguous()
