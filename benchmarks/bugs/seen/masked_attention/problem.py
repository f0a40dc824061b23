"""Attention to the first keys of each sequence, of which there may be none."""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """q: (batch, heads, queries, dim); k, v: (batch, heads, keys, dim); length: (batch,) int64, visible keys.

    Where no key is visible, the output is zero.
    """

    def forward(self, q, k, v, length):
        hidden = torch.arange(k.shape[2], device=q.device)[None, :] >= length[:, None]
        hidden = hidden[:, None, None, :]
        scores = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(hidden, float("-inf"))
        weights = torch.where(hidden.all(-1, keepdim=True), 0.0, scores).softmax(-1)
        return weights.masked_fill(hidden, 0.0) @ v


CASES = [
    dict(name="64x1024_bf16", dtype="bfloat16", batch=64, heads=8, queries=64, keys=1024, dim=64),
    dict(name="13x501_fp32", dtype="float32", held_out=True, batch=13, heads=4, queries=33, keys=501, dim=64),
    dict(name="small_fp32", dtype="float32", small=True, batch=4, heads=2, queries=3, keys=9, dim=16),
]


def get_inputs(batch=64, heads=8, queries=64, keys=1024, dim=64):
    return [
        torch.randn(batch, heads, queries, dim),
        torch.randn(batch, heads, keys, dim),
        torch.randn(batch, heads, keys, dim),
        torch.randint(0, keys + 1, (batch,)),
    ]


def get_init_inputs():
    return []
