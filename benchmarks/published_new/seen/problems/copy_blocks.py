"""Blocks of two pages of a cache copied to other places of it, for each layer."""

import torch
import torch.nn as nn

layers = 8
blocks = 64
size = 4096

CASES = [
    dict(name="full", layers=8, blocks=64, size=4096),
    dict(name="odd", layers=3, blocks=9, size=1208, held_out=True),
    dict(name="small", small=True, layers=2, blocks=5, size=40),
]

MUTATES = ("cache",)


class Model(nn.Module):
    def forward(self, cache, source, target):
        pages = cache.view(cache.shape[0], -1, 2, cache.shape[2])
        pages[:, target] = pages[:, source]


def get_inputs():
    places = torch.randperm(blocks)
    return [
        torch.randint(0, 256, (layers, 2 * blocks, size), dtype=torch.uint8),
        places[: blocks // 2],
        places[blocks // 2 : blocks // 2 * 2],
    ]


def get_init_inputs():
    return []
