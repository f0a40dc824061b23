"""Rotary embedding of queries, and of keys on their way into a padded cache, where values go unchanged."""

import torch
import torch.nn as nn

batch = 32
queries = 4
heads = 16
kv_heads = 4
width = 128
padding = 512

CASES = [
    dict(name="full", batch=32, queries=4, heads=16, kv_heads=4, width=128, padding=512, dtype="float32"),
    dict(name="odd", batch=9, queries=3, heads=6, kv_heads=2, width=96, padding=70, dtype="float32", held_out=True),
    dict(name="small", small=True, batch=2, queries=2, heads=2, kv_heads=1, width=32, padding=9, dtype="float32"),
]

MUTATES = ("cache_k", "cache_v")


class Model(nn.Module):
    def forward(self, xq, xk, xv, cache_k, cache_v, start_q, start_k, length_k):
        count = xq.shape[1] // length_k.shape[0]
        tokens = torch.arange(xq.shape[1], device=xq.device)
        sequence = tokens // count
        position = length_k[sequence] - count + tokens % count
        half = xq.shape[-1] // 2
        frequency = 10000.0 ** (torch.arange(half, device=xq.device).to(xq.dtype) / -half)
        angle = (position.to(xq.dtype)[:, None] * frequency)[None, :, None]
        cos, sin = torch.cos(angle), torch.sin(angle)
        turned = []
        for x in (xq, xk):
            real, imaginary = x[..., 0::2], x[..., 1::2]
            turned.append(torch.stack([real * cos - imaginary * sin, imaginary * cos + real * sin], -1).flatten(-2))
        place = start_k[sequence] + position
        cache_k[:, place] = turned[1]
        cache_v[:, place] = xv
        return turned[0]


def get_inputs():
    return [
        torch.randn(1, batch * queries, heads, width),
        torch.randn(1, batch * queries, kv_heads, width),
        torch.randn(1, batch * queries, kv_heads, width),
        torch.randn(1, batch * padding, kv_heads, width),
        torch.randn(1, batch * padding, kv_heads, width),
        torch.arange(batch + 1, dtype=torch.int32) * queries,
        torch.arange(batch + 1, dtype=torch.int32) * padding,
        torch.randint(queries, padding, (batch,), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
