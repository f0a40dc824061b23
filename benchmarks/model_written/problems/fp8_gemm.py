"""A product of two float8 matrices with one scale for each output column."""

import torch
import torch.nn as nn

M = 32
N = 8192
K = 8192
LARGEST = 448.0  # of float8_e4m3fn

CASES = [
    dict(name="decode", M=32, N=8192, K=8192),
    dict(name="ragged", held_out=True, M=4096, N=4096, K=4127),
]


class Model(nn.Module):
    def __init__(self, M, N, K):
        super().__init__()
        weight = torch.randn(N, K) * 0.02
        scale = (weight.abs().amax(dim=1, keepdim=True) / LARGEST).clamp(min=1e-12)
        self.register_buffer("weight", (weight / scale).to(torch.float8_e4m3fn))
        self.register_buffer("weight_scale", scale.squeeze(1))

    def forward(self, x):
        product = x.to(torch.bfloat16) @ self.weight.to(torch.bfloat16).T
        return (product.float() * self.weight_scale[None, :]).to(torch.bfloat16)


def get_inputs():
    return [(torch.rand(M, K) * 8 - 4).to(torch.float8_e4m3fn)]


def get_init_inputs():
    return [M, N, K]
