"""Blocks of two layers' caches copied to other blocks."""

import torch
import torch.nn as nn

blocks = 64
size = 4096

CASES = [
    dict(name="full", blocks=64, size=4096, dtype="float32"),
    dict(name="odd", held_out=True, blocks=9, size=1208, dtype="float32"),
    dict(name="small", small=True, blocks=6, size=40, dtype="float32"),
]

MUTATES = ("keys0", "keys1", "values0", "values1")


class Model(nn.Module):
    def forward(self, keys0, keys1, values0, values1, mapping):
        for cache in (keys0, keys1, values0, values1):
            cache[mapping[:, 1]] = cache[mapping[:, 0]]


def get_inputs():
    places = torch.randperm(blocks)[: blocks // 2 * 2].view(-1, 2)
    return [*(torch.randn(blocks, size) for _ in range(4)), places]


def get_init_inputs():
    return []
