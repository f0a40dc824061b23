"""nn.LayerNorm holds the parameters and the epsilon; the kernel does the work."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, out_ptr, features, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < features
    x = tl.load(x_ptr + row * features + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / features
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / features
    w = tl.load(w_ptr + column, mask=inside)
    b = tl.load(b_ptr + column, mask=inside)
    tl.store(out_ptr + row * features + column, centred * tl.rsqrt(variance + eps) * w + b, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        x = x.contiguous()
        features = self.norm.normalized_shape[0]
        out = torch.empty_like(x)
        layer_norm[(x.shape[0],)](
            x, self.norm.weight, self.norm.bias, out, features, self.norm.eps,
            BLOCK=triton.next_power_of_2(features), num_warps=4,
        )  # fmt: skip
        return out
