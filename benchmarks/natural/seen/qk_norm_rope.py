"""Query/key RMS norm followed by rotary embedding, as in Qwen3 and Gemma 3, before attention."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, head_dim, eps):
        super().__init__()
        self.q_weight = nn.Parameter(torch.ones(head_dim))
        self.k_weight = nn.Parameter(torch.ones(head_dim))
        self.eps = eps

    def norm(self, x, weight):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return weight * x.to(dtype)

    @staticmethod
    def rotate_half(x):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((-x2, x1), dim=-1)

    def forward(self, q, k, cos, sin):
        q = self.norm(q, self.q_weight)
        k = self.norm(k, self.k_weight)
        cos = cos[None, :, None, :]
        sin = sin[None, :, None, :]
        q = q * cos + self.rotate_half(q) * sin
        k = k * cos + self.rotate_half(k) * sin
        return q.transpose(1, 2).contiguous(), k.transpose(1, 2).contiguous()


CASES = [
    dict(name="prefill_4k", dtype="bfloat16", batch=4, seq=4096, heads=32, kv_heads=8),
    dict(name="prefill_16k", dtype="bfloat16", batch=1, seq=16384, heads=40, kv_heads=8),
    dict(name="odd", dtype="float32", held_out=True, batch=3, seq=1237, heads=14, kv_heads=2),
]


def get_inputs(batch=4, seq=4096, heads=32, kv_heads=8, head_dim=128):
    inv_freq = 1.0 / (1e6 ** (torch.arange(0, head_dim, 2).float() / head_dim))
    freqs = torch.outer(torch.arange(seq).float(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    return [
        torch.randn(batch, seq, heads, head_dim),
        torch.randn(batch, seq, kv_heads, head_dim),
        emb.cos(),
        emb.sin(),
    ]


def get_init_inputs(head_dim=128):
    return [head_dim, 1e-6]
