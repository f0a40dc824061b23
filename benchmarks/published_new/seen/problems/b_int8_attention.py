"""Attention of quantised queries and keys, one scale for each block of 128 queries and of 64 keys; scores count in powers of two."""

import torch
import torch.nn as nn

batch = 2
heads = 8
kv_heads = 2
length = 1024
width = 64

CASES = [
    dict(name="full", batch=2, heads=8, kv_heads=2, length=1024, width=64),
    dict(name="odd", held_out=True, batch=1, heads=4, kv_heads=4, length=250, width=128),
    dict(name="small", small=True, batch=1, heads=2, kv_heads=1, length=100, width=64),
]


class Model(nn.Module):
    def forward(self, q, k, v, q_scale, k_scale):
        group = q.shape[1] // k.shape[1]
        q_row = q_scale.repeat_interleave(128, -1)[..., : q.shape[2], None]
        k_row = k_scale.repeat_interleave(64, -1)[..., : k.shape[2], None]
        wide_q = q.to(q_row.dtype) * q_row
        wide_k = (k.to(k_row.dtype) * k_row).repeat_interleave(group, 1)
        scores = wide_q @ wide_k.transpose(-1, -2) * 0.6931471805599453
        p = torch.softmax(scores, -1).to(v.dtype)
        return p @ v.repeat_interleave(group, 1)


def get_inputs():
    return [
        torch.randint(-127, 128, (batch, heads, length, width), dtype=torch.int8),
        torch.randint(-127, 128, (batch, kv_heads, length, width), dtype=torch.int8),
        torch.randn(batch, kv_heads, length, width).half(),
        (torch.rand(batch, heads, -(-length // 128)) + 0.5) / 127,
        (torch.rand(batch, kv_heads, -(-length // 64)) + 0.5) / 127 / width**0.5,
    ]


def get_init_inputs():
    return []
