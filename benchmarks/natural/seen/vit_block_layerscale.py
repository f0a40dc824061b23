"""A vision transformer's block with learned residual scales and register tokens in front of the patches.

Self-supervised image backbones are stacks of it.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 64
patches = 256
registers = 4
dim = 768
num_heads = 12


class LayerScale(nn.Module):
    def __init__(self, dim, init=1e-1):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((dim,), init))

    def forward(self, x):
        return x * self.gamma


class Model(nn.Module):
    def __init__(self, dim, num_heads, registers, mlp_ratio=4.0):
        super().__init__()
        self.num_heads = num_heads
        self.register_tokens = nn.Parameter(0.02 * torch.randn(1, registers, dim))
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ls1 = LayerScale(dim)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.fc1 = nn.Linear(dim, int(dim * mlp_ratio))
        self.fc2 = nn.Linear(int(dim * mlp_ratio), dim)
        self.ls2 = LayerScale(dim)
        self.to(torch.float16)

    def attention(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(*qkv.unbind(0))
        return self.proj(out.transpose(1, 2).reshape(b, n, c))

    def forward(self, x):
        extra = self.register_tokens.expand(x.shape[0], -1, -1)
        x = torch.cat((extra, x), dim=1)
        x = x + self.ls1(self.attention(self.norm1(x)))
        x = x + self.ls2(self.fc2(F.gelu(self.fc1(self.norm2(x)))))
        return x[:, extra.shape[1] :]


def get_inputs():
    return [torch.randn(batch, patches, dim, dtype=torch.float16)]


def get_init_inputs():
    return [dim, num_heads, registers]
