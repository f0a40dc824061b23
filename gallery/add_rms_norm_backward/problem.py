"""RMSNorm over the last dimension of a sum with a residual, which is returned, too, with its backward."""

import torch
import torch.nn as nn

GRADIENTS = True


class Model(nn.Module):
    """x, residual: (tokens, width); weight: (width,). Out: the normalised sum times weight, and the sum."""

    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x, residual):
        total = x + residual
        rstd = torch.rsqrt(total.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (total * rstd).to(x.dtype) * self.weight, total


LIBRARY = "none"  # own kernels only

CASES = [
    dict(name="16384x4096_bf16", dtype="bfloat16", tokens=16384, width=4096),
    dict(name="4096x2560_fp16", dtype="float16", held_out=True, tokens=4096, width=2560),
    dict(name="1001x1537_fp32", dtype="float32", held_out=True, tokens=1001, width=1537),
    dict(name="5x37_fp32", dtype="float32", small=True, tokens=5, width=37),
    dict(name="19x320_fp16", dtype="float16", small=True, tokens=19, width=320),
]


def get_inputs(tokens=16384, width=4096):
    return [torch.randn(tokens, width), torch.randn(tokens, width)]


def get_init_inputs(width=4096):
    return [width, 1e-6]
