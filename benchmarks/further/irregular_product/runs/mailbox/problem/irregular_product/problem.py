"""A product of matrices whose sides are odd: the computation, sizes and dtype of KernelBench's level1/8."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return A @ B


M = 8205
K = 2949
N = 5921


def get_inputs():
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs():
    return []
