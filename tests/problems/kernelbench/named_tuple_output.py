import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.max(x, dim=self.dim)


dim1, dim2 = 11, 13


def get_inputs():
    return [torch.randn(3, dim1, dim2)]


def get_init_inputs():
    return [1]
