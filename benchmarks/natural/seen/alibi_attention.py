"""Causal attention with linear position biases and a padding mask, for left-padded batches of prompts.

The slope of the bias falls from head to head as powers of two.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def alibi_slopes(n_heads):
    closest = 2 ** math.floor(math.log2(n_heads))
    slopes = [2.0 ** (-8.0 * (i + 1) / closest) for i in range(closest)]
    extra = [2.0 ** (-4.0 * (2 * i + 1) / closest) for i in range(n_heads - closest)]
    return torch.tensor(slopes + extra)


class Model(nn.Module):
    def __init__(self, d_model=1024, n_heads=12, d_head=64):
        super().__init__()
        self.n_heads = n_heads
        self.d_head = d_head
        self.in_proj = nn.Linear(d_model, 3 * n_heads * d_head)
        self.out_proj = nn.Linear(n_heads * d_head, d_model)
        self.register_buffer("slopes", alibi_slopes(n_heads))

    def forward(self, x, padding_mask):
        """padding_mask: (batch, length), True where there is a token."""
        b, t, _ = x.shape
        q, k, v = self.in_proj(x).chunk(3, dim=-1)
        q = q.view(b, t, self.n_heads, self.d_head).transpose(1, 2)
        k = k.view(b, t, self.n_heads, self.d_head).transpose(1, 2)
        v = v.view(b, t, self.n_heads, self.d_head).transpose(1, 2)

        positions = torch.arange(t, device=x.device)
        relative = positions[None, :] - positions[:, None]
        bias = self.slopes[:, None, None] * relative.clamp(max=0)
        allowed = (relative <= 0)[None, None] & padding_mask[:, None, None, :]
        bias = bias[None].masked_fill(~allowed, -1e9)

        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        out = self.out_proj(out.transpose(1, 2).reshape(b, t, -1))
        return out * padding_mask.unsqueeze(-1)


def get_inputs(batch=8, length=1024, d_model=1024):
    lengths = torch.randint(length // 4, length + 1, (batch,))
    mask = torch.arange(length)[None, :] >= (length - lengths)[:, None]
    return [torch.randn(batch, length, d_model), mask]


def get_init_inputs(d_model=1024):
    return [d_model, 12, 64]
