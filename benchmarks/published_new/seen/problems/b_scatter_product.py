"""Tokens times the matrices of their experts, in the order of tokens."""

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


def by_expert(x, weight, expert):
    out = x.new_zeros(x.shape[0], weight.shape[2])
    for e in range(weight.shape[0]):
        out = torch.where((expert == e)[:, None], x @ weight[e], out)
    return out


class Model(nn.Module):
    def forward(self, x, weight, expert, order, topk):
        y = by_expert(x[order // topk], weight, expert)
        return torch.zeros_like(y).index_copy(0, order, y)


def get_inputs():
    expert, order = torch.sort(torch.randint(0, experts, (tokens * topk,)))
    return [torch.randn(tokens, inner), torch.randn(experts, inner, cols), expert, order, topk]


def get_init_inputs():
    return []
