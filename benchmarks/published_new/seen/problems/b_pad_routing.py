"""A map of tokens and experts with first zeros of each expert set to one, so that its count is a multiple of 16."""

import torch
import torch.nn as nn

tokens = 4096
experts = 64
topk = 4

CASES = [
    dict(name="full", tokens=4096, experts=64, topk=4, dtype="float32"),
    dict(name="odd", held_out=True, tokens=333, experts=8, topk=3, dtype="float32"),
    dict(name="small", small=True, tokens=40, experts=4, topk=2, dtype="float32"),
]

LIBRARY = "any"


class Model(nn.Module):
    def forward(self, routing):
        flags = routing.to(torch.int32)
        missing = -flags.sum(0) % 16
        rank = (1 - flags).cumsum(0)
        return torch.where((rank <= missing) & (flags == 0), 1, flags)


def get_inputs():
    routing = torch.zeros(tokens, experts, dtype=torch.bool)
    return [routing.scatter_(1, torch.randn(tokens, experts).topk(topk).indices, True)]


def get_init_inputs():
    return []
