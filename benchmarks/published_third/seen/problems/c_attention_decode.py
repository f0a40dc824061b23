"""Attention of one new token of each sequence to keys of its length."""

import torch
import torch.nn as nn

sequences = 16
longest = 1024
heads = 16
kv_heads = 4
width = 128

CASES = [
    dict(name="full", sequences=16, longest=1024, heads=16, kv_heads=4, width=128, dtype="float16"),
    dict(name="odd", held_out=True, sequences=3, longest=77, heads=4, kv_heads=2, width=64, dtype="float16"),
    dict(name="small", small=True, sequences=2, longest=20, heads=2, kv_heads=1, width=32, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, q, k, v, lengths):
        group = q.shape[1] // k.shape[2]
        k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
        scores = torch.einsum("bhd,bkhd->bhk", q, k) * q.shape[-1] ** -0.5
        at = torch.arange(k.shape[1], device=q.device)
        scores = scores.masked_fill(at >= lengths[:, None, None], -float("inf"))
        return torch.einsum("bhk,bkhd->bhd", torch.softmax(scores, -1), v)


def get_inputs():
    lengths = torch.tensor([longest - 7 * i for i in range(sequences)], dtype=torch.int32)
    return [
        torch.randn(sequences, heads, width),
        torch.randn(sequences, longest, kv_heads, width),
        torch.randn(sequences, longest, kv_heads, width),
        lengths,
    ]


def get_init_inputs():
    return []
