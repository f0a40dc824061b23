"""Tokens copied to their experts up to a capacity, each times its weight; zeros elsewhere."""

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


def kept_places(bins, capacity, count):
    at = torch.arange(count, device=bins.device)
    expert = torch.searchsorted(bins.long(), at, right=True)
    local = at - torch.cat([bins.new_zeros(1), bins[:-1]]).long()[expert]
    return expert, local.clamp(max=capacity - 1), local < capacity


class Model(nn.Module):
    def forward(self, x, indices, weights, bins, capacity, topk):
        index = indices.long()
        expert, local, kept = kept_places(bins, capacity, index.shape[0])
        rows = torch.where(kept[:, None], x[index // topk] * weights[index, None], 0)
        out = x.new_zeros(bins.shape[0] * capacity + 1, x.shape[1])
        place = torch.where(kept, expert * capacity + local, bins.shape[0] * capacity)
        return out.index_add(0, place, rows)[:-1].view(bins.shape[0], capacity, x.shape[1])


def get_inputs():
    bin_ids, indices = torch.sort(torch.randint(0, experts, (tokens * topk,), dtype=torch.int32), stable=True)
    counts = torch.bincount(bin_ids, minlength=experts)
    bins = counts.cumsum(0).to(torch.int32)
    indices = indices.to(torch.int32)
    return [torch.randn(tokens, width), indices, torch.randn(tokens * topk), bins, tokens * topk // experts, topk]


def get_init_inputs():
    return []
