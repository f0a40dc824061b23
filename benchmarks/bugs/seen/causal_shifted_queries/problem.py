"""Causal attention of the last queries of a sequence to all of its keys."""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """q: (batch, heads, queries, dim); k, v: (batch, heads, keys, dim). The last query sees every key."""

    def forward(self, q, k, v):
        queries, keys = q.shape[2], k.shape[2]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        last_key = torch.arange(queries, device=q.device)[:, None] + keys - queries
        hidden = torch.arange(keys, device=q.device)[None, :] > last_key
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v


CASES = [
    dict(name="prefill_bf16", dtype="bfloat16", batch=2, heads=16, queries=1024, keys=1024, dim=128),
    dict(name="chunk_bf16", dtype="bfloat16", held_out=True, batch=2, heads=16, queries=512, keys=3000, dim=128),
    dict(name="small_fp32", dtype="float32", small=True, batch=1, heads=2, queries=7, keys=37, dim=32),
]


def get_inputs(batch=2, heads=16, queries=1024, keys=1024, dim=128):
    return [
        torch.randn(batch, heads, queries, dim),
        torch.randn(batch, heads, keys, dim),
        torch.randn(batch, heads, keys, dim),
    ]


def get_init_inputs():
    return []
