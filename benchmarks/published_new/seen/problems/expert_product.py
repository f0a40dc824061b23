"""Rows of tokens times the matrices of their experts, by a list of routes in blocks of 16, one expert a block; entries
past the last route are empty."""

import torch
import torch.nn as nn

tokens = 256
top = 2
experts = 8
n = 1024
k = 512

CASES = [
    dict(name="full", tokens=256, top=2, experts=8, n=1024, k=512, dtype="float16"),
    dict(name="odd", tokens=51, top=2, experts=5, n=200, k=136, dtype="float16", held_out=True),
    dict(name="small", small=True, tokens=7, top=2, experts=3, n=40, k=48, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, x, weight, route_weights, routes, block_experts, padded):
        total = route_weights.numel()
        expert = block_experts.repeat_interleave(16).long()
        rows = x[(routes.clamp(max=total - 1) // route_weights.shape[1]).long()]
        product = torch.zeros(len(rows), weight.shape[1], dtype=x.dtype, device=x.device)
        for e in range(weight.shape[0]):
            product = torch.where((expert == e)[:, None], rows @ weight[e].t(), product)
        result = torch.zeros(total + 1, weight.shape[1], dtype=x.dtype, device=x.device)
        result = result.index_copy(0, routes.long().clamp(max=total), product)[:total]
        return (result * route_weights.flatten()[:, None]).view(*route_weights.shape, -1)


def get_inputs():
    blocks = (tokens * top + 15) // 16 + 2
    routes = torch.full((blocks * 16,), tokens * top, dtype=torch.int32)
    routes[torch.randperm(blocks * 16)[: tokens * top]] = torch.arange(tokens * top, dtype=torch.int32)
    return [
        torch.randn(tokens, k),
        torch.randn(experts, n, k),
        torch.rand(tokens, top) + 0.1,
        routes,
        torch.randint(0, experts, (blocks,), dtype=torch.int32),
        torch.full((1,), blocks * 16, dtype=torch.int32),
    ]


def get_init_inputs():
    return []
