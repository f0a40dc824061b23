import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, eps=1e-5, affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features)) if affine else None

    def forward(self, x, residual=None, scale=1.0, *, dim=-1):
        x = x if residual is None else x + residual
        y = x * torch.rsqrt(x.pow(2).mean(dim=dim, keepdim=True) + self.eps)
        return scale * y * self.weight


batch = 4
features = 32


def get_inputs():
    return [torch.randn(batch, features), torch.randn(batch, features)]


def get_init_inputs():
    return [features, 1e-6]
