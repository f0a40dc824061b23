"""Causal attention of several sequences, whose tokens stand in a row."""

import torch
import torch.nn as nn
import torch.nn.functional as F

length = 512
heads = 8
width = 64

CASES = [
    dict(name="full", length=512, heads=8, width=64, dtype="float16"),
    dict(name="small", small=True, length=20, heads=2, width=16, dtype="float16"),
]


class Model(nn.Module):
    def forward(self, q, k, v, start, lengths):
        tokens = torch.arange(q.shape[0], device=q.device)
        sequence = (tokens[:, None] >= start).sum(1) - 1
        inside = tokens < start[sequence] + lengths[sequence]
        allowed = (sequence[:, None] == sequence) & (tokens[:, None] >= tokens) & inside
        parts = [x.transpose(0, 1) for x in (q, k, v)]
        allowed = allowed | torch.eye(len(q), device=q.device, dtype=torch.bool)
        result = F.scaled_dot_product_attention(*parts, attn_mask=allowed)
        return torch.where(inside[:, None, None], result.transpose(0, 1), 0)


def get_inputs():
    return [
        torch.randn(2 * length, heads, width),
        torch.randn(2 * length, heads, width),
        torch.randn(2 * length, heads, width),
        torch.arange(2, dtype=torch.int32) * length,
        torch.full((2,), length, dtype=torch.int32),
    ]


def get_init_inputs():
    return []
