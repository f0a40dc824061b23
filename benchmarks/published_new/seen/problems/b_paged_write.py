"""Key and value of one new token of each sequence written to their blocks."""

import torch
import torch.nn as nn

sequences = 64
blocks = 16
heads = 8
width = 128
block_size = 64

CASES = [
    dict(name="full", sequences=64, blocks=16, heads=8, width=128, block_size=64, dtype="float16"),
    dict(name="odd", held_out=True, sequences=7, blocks=3, heads=3, width=64, block_size=16, dtype="float32"),
    dict(name="small", small=True, sequences=3, blocks=2, heads=2, width=32, block_size=16, dtype="float32"),
]

MUTATES = (
    "k_cache",
    "v_cache",
)


class Model(nn.Module):
    def forward(self, k, v, k_cache, v_cache, lengths, tables):
        position = lengths.long() - 1
        block = tables.long().gather(1, position[:, None] // block_size)[:, 0]
        k_cache[block, :, position % block_size] = k
        v_cache[block, :, position % block_size] = v


def get_inputs():
    lengths = torch.randperm(blocks * block_size - 4)[:sequences].to(torch.int32) + 4
    tables = torch.randperm(sequences * blocks + 2)[: sequences * blocks].view(sequences, blocks).to(torch.int32)
    cache = (sequences * blocks + 2, heads, block_size, width)
    return [
        torch.randn(sequences, heads, width),
        torch.randn(sequences, heads, width),
        torch.randn(cache),
        torch.randn(cache),
        lengths,
        tables,
    ]


def get_init_inputs():
    return []
