"""One step of a selective state space model: the output, and the new state in place."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
dim = 2048
n = 16

CASES = [
    dict(name="full", batch=32, dim=2048, n=16, dtype="float32"),
    dict(name="small", small=True, batch=2, dim=20, n=16, dtype="float32"),
]


MUTATES = ("state",)


class Model(nn.Module):
    def forward(self, state, x, dt, a, b, c, d, dt_bias):
        step = F.softplus(dt + dt_bias)
        new = state * torch.exp(step[..., None] * a) + (step * x)[..., None] * b[:, None, :]
        state.copy_(new)
        return (new * c[:, None, :]).sum(-1) + x * d


def get_inputs():
    return [
        torch.randn(batch, dim, n),
        torch.randn(batch, dim),
        torch.randn(batch, dim),
        -torch.rand(dim, n),
        torch.randn(batch, n),
        torch.randn(batch, n),
        torch.randn(dim),
        torch.randn(dim),
    ]


def get_init_inputs():
    return []
