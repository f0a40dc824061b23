"""Gradients of a bias for each group of rows and of the rows' scales."""

import torch
import torch.nn as nn

tokens = 8192
groups = 8
width = 2048

CASES = [
    dict(name="full", tokens=8192, groups=8, width=2048, dtype="float32"),
    dict(name="odd", held_out=True, tokens=1003, groups=5, width=333, dtype="float32"),
    dict(name="small", small=True, tokens=40, groups=3, width=37, dtype="float32"),
]


def groups_of(offsets, tokens):
    at = torch.arange(tokens, device=offsets.device)
    return torch.searchsorted(offsets[1:].contiguous(), at, right=True)


class Model(nn.Module):
    def forward(self, dy, scales, bias, offsets):
        group = groups_of(offsets, dy.shape[0])
        grad_bias = torch.zeros_like(bias).index_add(0, group, dy * scales[:, None])
        return grad_bias, (dy * bias[group]).sum(-1)


def get_inputs():
    cuts = torch.sort(torch.randperm(tokens - 1)[: groups - 1] + 1).values
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), cuts, torch.full((1,), tokens)])
    return [torch.randn(tokens, width), torch.randn(tokens), torch.randn(groups, width), offsets]


def get_init_inputs():
    return []
