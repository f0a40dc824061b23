"""Keys of new tokens written to their places of a cache."""

import torch
import torch.nn as nn

tokens = 512
slots = 4096
heads = 8
width = 128

CASES = [
    dict(name="full", tokens=512, slots=4096, heads=8, width=128, dtype="float16"),
    dict(name="small", small=True, tokens=4, slots=9, heads=2, width=16, dtype="float32"),
]


MUTATES = ("cache",)


class Model(nn.Module):
    def forward(self, k, places, cache):
        cache.index_copy_(0, places, k)


def get_inputs():
    return [torch.randn(tokens, heads, width), torch.randperm(slots)[:tokens], torch.randn(slots, heads, width)]


def get_init_inputs():
    return []
