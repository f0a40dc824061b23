"""Gradients of the weights of experts' rows up to a capacity; zeros for the others."""

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
    def forward(self, x, grad, indices, bins, topk):
        index = indices.long()
        expert, local, kept = kept_places(bins, x.shape[1], index.shape[0])
        value = torch.where(kept, (x[expert, local] * grad[index // topk]).sum(-1), 0)
        return torch.zeros_like(value).index_copy(0, index, value)


def get_inputs():
    bin_ids, indices = torch.sort(torch.randint(0, experts, (tokens * topk,), dtype=torch.int32), stable=True)
    counts = torch.bincount(bin_ids, minlength=experts)
    bins = counts.cumsum(0).to(torch.int32)
    indices = indices.to(torch.int32)
    return [torch.randn(experts, tokens * topk // experts, width), torch.randn(tokens, width), indices, bins, topk]


def get_init_inputs():
    return []
