"""Tokens and their weights copied to the rows of their experts."""

import torch
import torch.nn as nn

tokens = 4096
experts = 32
topk = 4
width = 2048

CASES = [
    dict(name="full", tokens=4096, experts=32, topk=4, width=2048, dtype="float32"),
    dict(name="odd", held_out=True, tokens=333, experts=8, topk=3, width=200, dtype="float32"),
    dict(name="small", small=True, tokens=9, experts=4, topk=2, width=37, dtype="float32"),
]


def sorted_places(routing, topk):
    order = torch.argsort(routing.t().reshape(-1).to(torch.int8), descending=True, stable=True)
    order = order[: routing.shape[0] * topk]
    return order % routing.shape[0], order // routing.shape[0]


class Model(nn.Module):
    def forward(self, x, routing, probs, topk):
        token, expert = sorted_places(routing, topk)
        chosen = probs[token, expert]
        return torch.where(chosen[:, None] == 0, 0, x[token]), chosen


def get_inputs():
    routing = torch.zeros(tokens, experts, dtype=torch.bool)
    routing.scatter_(1, torch.randn(tokens, experts).topk(topk).indices, True)
    return [torch.randn(tokens, width), routing, torch.randn(tokens, experts), topk]


def get_init_inputs():
    return []
