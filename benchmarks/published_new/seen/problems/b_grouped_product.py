"""Product of each group of rows with its own matrix."""

import torch
import torch.nn as nn

tokens = 4096
groups = 8
inner = 1024
cols = 1024

CASES = [
    dict(name="full", tokens=4096, groups=8, inner=1024, cols=1024, dtype="float16"),
    dict(name="odd", held_out=True, tokens=333, groups=5, inner=96, cols=200, dtype="float16"),
    dict(name="small", small=True, tokens=40, groups=3, inner=64, cols=48, dtype="float32"),
]

PRECISION = "tf32"


class Model(nn.Module):
    def forward(self, x, weight, ends):
        at = torch.arange(x.shape[0], device=x.device)
        group = torch.searchsorted(ends.long(), at, right=True)
        out = x.new_zeros(x.shape[0], weight.shape[2])
        for g in range(weight.shape[0]):
            out = torch.where((group == g)[:, None], x @ weight[g], out)
        return out


def get_inputs():
    cuts = torch.sort(torch.randperm(tokens - 1)[: groups - 1] + 1).values
    ends = torch.cat([cuts, torch.full((1,), tokens)]).to(torch.int32)
    return [torch.randn(tokens, inner), torch.randn(groups, inner, cols), ends]


def get_init_inputs():
    return []
