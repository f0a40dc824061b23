"""Stable ranks within experts: for each token, how many earlier tokens go to the same expert; and the tokens of each expert.

`expert` has numbers 0 to experts - 1, or -1 for dropped tokens, whose rank is -1 and which count for no expert. Ranks beyond
`capacity` - 1 become -1, but counts are not limited."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, expert, experts, capacity):
        hot = expert[:, None] == torch.arange(experts, device=expert.device)[None]
        before = hot.int().cumsum(0) - 1
        rank = torch.where(hot, before, 0).sum(1)
        rank = torch.where((expert < 0) | (rank >= capacity), -1, rank)
        return rank, hot.sum(0)


CASES = [
    dict(name="large", tokens=65536, experts=64, capacity=1000),
    dict(name="odd", held_out=True, tokens=1003, experts=7, capacity=100),
    dict(name="small", small=True, tokens=200, experts=6, capacity=20),
    dict(name="few", small=True, tokens=70, experts=3, capacity=1000),
]


def get_inputs(tokens=65536, experts=64, capacity=1000):
    return [torch.randint(-1, experts, (tokens,)), experts, capacity]


def get_init_inputs():
    return []
