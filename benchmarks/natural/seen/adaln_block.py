"""Diffusion transformer block whose norms are modulated, and whose branches are gated, by the conditioning vector."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
tokens = 1024
dim = 1152
heads = 16


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class Model(nn.Module):
    def __init__(self, dim, heads, mlp_ratio=4):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, mlp_ratio * dim),
            nn.GELU(approximate="tanh"),
            nn.Linear(mlp_ratio * dim, dim),
        )
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))
        self.to(dtype=torch.bfloat16)

    def attend(self, x):
        b, n, d = x.shape
        q, k, v = (y.view(b, n, self.heads, d // self.heads).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, c):
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(c).chunk(6, dim=1)
        x = x + gate_a.unsqueeze(1) * self.attend(modulate(self.norm1(x), shift_a, scale_a))
        x = x + gate_m.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift_m, scale_m))
        return x


def get_inputs():
    x = torch.randn(batch, tokens, dim, dtype=torch.bfloat16)
    c = torch.randn(batch, dim, dtype=torch.bfloat16)
    return [x, c]


def get_init_inputs():
    return [dim, heads]
