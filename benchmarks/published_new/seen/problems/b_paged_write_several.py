"""Keys of three new tokens of each sequence written to their blocks."""

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

MUTATES = ("k_cache",)


class Model(nn.Module):
    def forward(self, k, k_cache, lengths, tables):
        position = lengths.long()[:, None] - 3 + torch.arange(3, device=k.device)
        block = tables.long().gather(1, position // block_size)
        k_cache[block.flatten(), :, position.flatten() % block_size] = k


def get_inputs():
    lengths = torch.randperm(blocks * block_size - 4)[:sequences].to(torch.int32) + 4
    tables = torch.randperm(sequences * blocks + 2)[: sequences * blocks].view(sequences, blocks).to(torch.int32)
    cache = (sequences * blocks + 2, heads, block_size, width)
    return [torch.randn(sequences * 3, heads, width), torch.randn(cache), lengths, tables]


def get_init_inputs():
    return []
