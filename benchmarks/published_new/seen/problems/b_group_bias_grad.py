"""Gradient of one bias for each group of rows."""

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
    def forward(self, dy, offsets):
        return dy.new_zeros(offsets.shape[0] - 1, dy.shape[1]).index_add(0, groups_of(offsets, dy.shape[0]), dy)


def get_inputs():
    cuts = torch.sort(torch.randperm(tokens - 1)[: groups - 1] + 1).values
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), cuts, torch.full((1,), tokens)])
    return [torch.randn(tokens, width), offsets]


def get_init_inputs():
    return []
