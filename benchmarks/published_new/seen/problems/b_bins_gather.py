"""Tokens copied to the order of experts, each times its weight."""

import torch
import torch.nn as nn

tokens = 2048
experts = 16
topk = 2
width = 1024

CASES = [
    dict(name="full", tokens=2048, experts=16, topk=2, width=1024, dtype="float32"),
    dict(name="odd", held_out=True, tokens=101, experts=5, topk=3, width=200, dtype="float32"),
    dict(name="small", small=True, tokens=9, experts=3, topk=2, width=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, indices, bin_ids, weights, bins, topk):
        index = indices.long()
        return x[index // topk] * weights[index, None]


def get_inputs():
    bin_ids, indices = torch.sort(torch.randint(0, experts, (tokens * topk,), dtype=torch.int32), stable=True)
    counts = torch.bincount(bin_ids, minlength=experts)
    bins = counts.cumsum(0).to(torch.int32)
    indices = indices.to(torch.int32)
    return [torch.randn(tokens, width), indices, bin_ids, torch.randn(tokens * topk), bins, topk]


def get_init_inputs():
    return []
