"""Attention with normalised queries and keys, a tanh cap on the scores and a local window.

Some recent language models alternate this layer with one that sees the whole context.
"""

import torch
from torch import nn

batch, seq_len, dim = 2, 1024, 2048
heads, head_dim = 16, 128
window = 512
cap = 50.0


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * (1.0 + self.weight)


class Model(nn.Module):
    def __init__(self, dim, heads, head_dim, window, cap):
        super().__init__()
        self.heads, self.head_dim = heads, head_dim
        self.window, self.cap = window, cap
        self.qkv = nn.Linear(dim, 3 * heads * head_dim, bias=False)
        self.q_norm = RMSNorm(head_dim)
        self.k_norm = RMSNorm(head_dim)
        self.proj = nn.Linear(heads * head_dim, dim, bias=False)

    def local_mask(self, n, device):
        i = torch.arange(n, device=device)
        distance = i[:, None] - i[None, :]
        return (distance >= 0) & (distance < self.window)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k = self.q_norm(q), self.k_norm(k)
        scores = q @ k.transpose(-2, -1) * self.head_dim**-0.5
        scores = self.cap * torch.tanh(scores / self.cap)
        scores = scores.masked_fill(~self.local_mask(n, x.device), torch.finfo(scores.dtype).min)
        out = scores.softmax(dim=-1) @ v
        return self.proj(out.transpose(1, 2).flatten(2))


def get_inputs():
    return [torch.randn(batch, seq_len, dim)]


def get_init_inputs():
    return [dim, heads, head_dim, window, cap]
