"""Causal attention of sequences that follow each other."""

import torch
import torch.nn as nn

sequences = 8
longest = 512
heads = 16
kv_heads = 4
width = 128

CASES = [
    dict(name="full", sequences=8, longest=512, heads=16, kv_heads=4, width=128, dtype="float16"),
    dict(name="odd", held_out=True, sequences=3, longest=77, heads=4, kv_heads=2, width=64, dtype="float16"),
    dict(name="small", small=True, sequences=2, longest=20, heads=2, kv_heads=1, width=32, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, q, k, v, starts):
        at = torch.arange(q.shape[0], device=q.device)
        which = torch.searchsorted(starts[1:].long().contiguous(), at, right=True)
        mask = (which[:, None] == which) & (at[:, None] >= at)
        group = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = torch.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(~mask, -float("inf"))
        return torch.einsum("hqk,khd->qhd", torch.softmax(scores, -1), v)


def get_inputs():
    lengths = torch.tensor([0, *(longest - 7 * i for i in range(sequences))])
    starts = lengths.cumsum(0).to(torch.int32)
    total = sum(longest - 7 * i for i in range(sequences))
    return [
        torch.randn(total, heads, width),
        torch.randn(total, kv_heads, width),
        torch.randn(total, kv_heads, width),
        starts,
    ]


def get_init_inputs():
    return []
