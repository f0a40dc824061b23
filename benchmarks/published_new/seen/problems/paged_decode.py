"""Attention of one query for each sequence over keys and values in pages of 16."""

import torch
import torch.nn as nn

batch = 16
heads = 8
width = 64
pages = 16

CASES = [
    dict(name="full", batch=16, heads=8, width=64, pages=16, dtype="float16"),
    dict(name="small", small=True, batch=2, heads=2, width=16, pages=2, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, q, keys, values, tables, lengths):
        k = keys[tables.long()].permute(0, 2, 1, 4, 3).flatten(2, 3)
        v = values[tables.long()].permute(0, 2, 1, 4, 3).flatten(2, 3)
        scores = torch.einsum("bhd,bhtd->bht", q, k) * 0.125
        inside = torch.arange(k.shape[2], device=q.device) < lengths[:, None]
        scores = scores.masked_fill(~inside[:, None], float("-inf"))
        return torch.einsum("bht,bhtd->bhd", torch.softmax(scores, -1), v)


def get_inputs():
    return [
        torch.randn(batch, heads, width),
        torch.randn(batch * pages, heads, width, 16),
        torch.randn(batch * pages, heads, width, 16),
        torch.randperm(batch * pages).int().view(batch, pages),
        torch.randint(1, pages * 16, (batch,), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
