"""Attention with a linear bias of one new token of each sequence to a cache in blocks."""

import torch
import torch.nn as nn

sequences = 16
longest = 1024
heads = 16
kv_heads = 4
width = 128
block_size = 64

CASES = [
    dict(name="full", sequences=16, longest=1024, heads=16, kv_heads=4, width=128, block_size=64, dtype="float32"),
    dict(
        name="odd",
        held_out=True,
        sequences=3,
        longest=77,
        heads=4,
        kv_heads=2,
        width=64,
        block_size=16,
        dtype="float32",
    ),
    dict(
        name="small", small=True, sequences=2, longest=30, heads=2, kv_heads=1, width=32, block_size=16, dtype="float32"
    ),
]


class Model(nn.Module):
    def forward(self, q, k_cache, v_cache, lengths, tables, slopes):
        chosen = tables.long()
        k = k_cache[chosen].transpose(1, 2).flatten(2, 3)
        v = v_cache[chosen].transpose(1, 2).flatten(2, 3)
        group = q.shape[1] // k.shape[1]
        scores = torch.einsum("bhd,bhkd->bhk", q, k.repeat_interleave(group, 1)) * q.shape[-1] ** -0.5
        at = torch.arange(k.shape[2], device=q.device)
        scores = scores - slopes[:, None] * (lengths[:, None, None] - 1 - at)
        mask = torch.zeros_like(scores).masked_fill(at >= lengths[:, None, None], -float("inf"))
        p = torch.softmax(scores + mask, -1)
        return torch.einsum("bhk,bhkd->bhd", p, v.repeat_interleave(group, 1)).flatten(1)


def get_inputs():
    lengths = torch.tensor([longest - 7 * i for i in range(sequences)], dtype=torch.int32)
    blocks = -(-longest // block_size)
    tables = torch.randperm(sequences * blocks + 2)[: sequences * blocks].view(sequences, blocks).to(torch.int32)
    return [
        torch.randn(sequences, heads, width),
        torch.randn(sequences * blocks + 2, kv_heads, block_size, width),
        torch.randn(sequences * blocks + 2, kv_heads, block_size, width),
        lengths,
        tables,
        torch.rand(heads),
    ]


def get_init_inputs():
    return []
