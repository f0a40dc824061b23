"""Write the keys and values of new tokens into a cache, each token at its slot."""

import torch
import torch.nn as nn

MUTATES = ("k_cache", "v_cache")

CASES = [
    dict(name="prefill", slots=65536, tokens=8192, heads=8, size=128, dtype="float16"),
    dict(name="decode", slots=65536, tokens=256, heads=8, size=128, dtype="float16", held_out=True),
    dict(name="ragged", slots=37, tokens=5, heads=3, size=20, dtype="float32", small=True),
]


class Model(nn.Module):
    def forward(self, k_cache, v_cache, k, v, slots):
        k_cache.index_copy_(0, slots, k)
        v_cache.index_copy_(0, slots, v)


def get_inputs(slots=65536, tokens=8192, heads=8, size=128):
    caches = [torch.randn(slots, heads, size) for _ in range(2)]
    new = [torch.randn(tokens, heads, size) for _ in range(2)]
    return [*caches, *new, torch.randperm(slots)[:tokens]]


def get_init_inputs():
    return []
