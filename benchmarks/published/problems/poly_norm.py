"""Three powers of the rows, each normalised, weighted and added up, with a bias."""

import torch
import torch.nn as nn

rows = 4096
cols = 1000

CASES = [
    dict(name="full", rows=4096, cols=1000, dtype="float32"),
    dict(name="small", small=True, rows=5, cols=37, dtype="float32"),
    dict(name="small1", small=True, rows=3, cols=130, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, weight, bias):
        powers = (u * torch.rsqrt((u * u).mean(dim=-1, keepdim=True) + 1e-6) for u in (x**3, x**2, x))
        return sum(w * u for w, u in zip(weight, powers, strict=True)) + bias


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(3), torch.randn(1)]


def get_init_inputs():
    return []
