"""A product of a float8 and a bfloat16 matrix: the first form of the collection's problem."""

import torch
import torch.nn as nn

M = 32
N = 8192
K = 8192

CASES = [
    dict(name="decode", M=32, N=8192, K=8192),
    dict(name="ragged", held_out=True, M=4096, N=4096, K=4127),
]


class Model(nn.Module):
    def __init__(self, M, N, K):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(N, K, dtype=torch.bfloat16) * 0.02)

    def forward(self, x):
        return x.to(torch.bfloat16) @ self.weight.to(torch.bfloat16).T


def get_inputs():
    return [(torch.rand(M, K) * 8 - 4).to(torch.float8_e4m3fn)]


def get_init_inputs():
    return [M, N, K]
