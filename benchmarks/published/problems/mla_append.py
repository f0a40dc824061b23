"""Two parts of each new token written to its place of a cache."""

import torch
import torch.nn as nn

tokens = 512
slots = 4096

CASES = [
    dict(name="full", tokens=512, slots=4096, dtype="float16"),
    dict(name="small", small=True, tokens=4, slots=9, dtype="float32"),
]


MUTATES = ("cache",)


class Model(nn.Module):
    def forward(self, cache, places, nope, rope):
        cache.index_copy_(0, places, torch.cat([nope, rope], dim=-1))


def get_inputs():
    return [
        torch.randn(slots, 1, 192),
        torch.randperm(slots)[:tokens],
        torch.randn(tokens, 1, 128),
        torch.randn(tokens, 1, 64),
    ]


def get_init_inputs():
    return []
