"""Gradient of each expert's matrix from the rows of its group."""

import torch
import torch.nn as nn

tokens = 2048
experts = 8
topk = 2
inner = 1024
cols = 1024

CASES = [
    dict(name="full", tokens=2048, experts=8, topk=2, inner=1024, cols=1024, dtype="float16"),
    dict(name="odd", held_out=True, tokens=100, experts=5, topk=3, inner=96, cols=200, dtype="float32"),
    dict(name="small", small=True, tokens=20, experts=4, topk=2, inner=64, cols=48, dtype="float32"),
]

PRECISION = "tf32"


class Model(nn.Module):
    def forward(self, dy, x, ends):
        group = torch.searchsorted(ends, torch.arange(x.shape[0], device=x.device), right=True)
        parts = [(x * (group == e)[:, None].to(x.dtype)).t() @ dy for e in range(ends.shape[0])]
        return torch.stack(parts)


def get_inputs():
    expert = torch.sort(torch.randint(0, experts, (tokens,))).values
    ends = torch.bincount(expert, minlength=experts).cumsum(0)
    return [torch.randn(tokens, cols), torch.randn(tokens, inner), ends]


def get_init_inputs():
    return []
