"""Gemma-3-1B local layer. 4 query heads share one kv head, head size 256, window of 512 tokens, 4096 tokens."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BSZ = 2
LENGTH = 4096
WINDOW = 512
Q_HEADS = 4
KV_HEADS = 1
D_HEAD = 256


class Model(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        pos = torch.arange(q.shape[-2], device=q.device)
        dist = pos[:, None] - pos[None, :]
        allowed = (dist >= 0) & (dist < self.window)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True)


def get_inputs():
    # q and k come out of a norm, so their rows have length sqrt(d)
    q = F.normalize(torch.randn(BSZ, Q_HEADS, LENGTH, D_HEAD), dim=-1) * D_HEAD**0.5 * 2
    k = F.normalize(torch.randn(BSZ, KV_HEADS, LENGTH, D_HEAD), dim=-1) * D_HEAD**0.5
    v = 2 * torch.randn(BSZ, KV_HEADS, LENGTH, D_HEAD)
    return [q.bfloat16(), k.bfloat16(), v.bfloat16()]


def get_init_inputs():
    return [WINDOW]
