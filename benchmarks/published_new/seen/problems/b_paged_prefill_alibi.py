"""Causal attention with a linear bias, which is at most 0, and keys and values written to a cache."""

import torch
import torch.nn as nn

sequences = 4
longest = 512
heads = 8
kv_heads = 2
width = 64
block_size = 32

CASES = [
    dict(name="full", sequences=4, longest=512, heads=8, kv_heads=2, width=64, block_size=32, dtype="float16"),
    dict(
        name="odd",
        held_out=True,
        sequences=3,
        longest=77,
        heads=4,
        kv_heads=2,
        width=32,
        block_size=16,
        dtype="float16",
    ),
    dict(
        name="small", small=True, sequences=2, longest=30, heads=2, kv_heads=1, width=32, block_size=16, dtype="float32"
    ),
]

PRECISION = "tf32"

MUTATES = (
    "k_cache",
    "v_cache",
)


def places(lengths, tokens):
    ends = lengths.cumsum(0)
    at = torch.arange(tokens, device=lengths.device)
    sequence = torch.searchsorted(ends, at, right=True)
    return sequence, at - (ends - lengths)[sequence]


class Model(nn.Module):
    def forward(self, q, k, v, k_cache, v_cache, lengths, tables, slopes):
        sequence, position = places(lengths.long(), q.shape[0])
        block, slot = tables.long()[sequence, position // block_size], position % block_size
        k_cache[block, :, slot] = k
        v_cache[block, :, slot] = v
        group = q.shape[1] // k.shape[1]
        scores = torch.einsum("qhd,khd->hqk", q, k.repeat_interleave(group, 1)) * q.shape[-1] ** -0.5
        bias = (position[None, :] - position[:, None]) * slopes[:, None, None]
        scores = scores + bias.masked_fill(bias > 0, -float("inf"))
        seen = (sequence[:, None] == sequence[None, :]) & (position[:, None] >= position[None, :])
        p = torch.softmax(scores.masked_fill(~seen, -float("inf")), -1)
        return torch.einsum("hqk,khd->qhd", p, v.repeat_interleave(group, 1)).reshape(q.shape[0], -1)


def get_inputs():
    lengths = torch.tensor([longest - 7 * i for i in range(sequences)], dtype=torch.int32)
    tokens = int(lengths.sum())
    blocks = -(-longest // block_size)
    tables = torch.randperm(sequences * blocks + 2)[: sequences * blocks].view(sequences, blocks).to(torch.int32)
    return [
        torch.randn(tokens, heads, width),
        torch.randn(tokens, kv_heads, width),
        torch.randn(tokens, kv_heads, width),
        torch.randn(sequences * blocks + 2, kv_heads, block_size, width),
        torch.randn(sequences * blocks + 2, kv_heads, block_size, width),
        lengths,
        tables,
        torch.rand(heads),
    ]


def get_init_inputs():
    return []
