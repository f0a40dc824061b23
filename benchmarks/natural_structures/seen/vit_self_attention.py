"""Attention block of ViT-L/16 at 224x224 as in timm: 197 tokens, width 1024, 16 heads; 32 images in fp16."""
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 32
N = 197
C = 1024
H = 16


class Model(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.h = heads
        self.norm = nn.LayerNorm(dim, eps=1e-6, dtype=torch.float16)
        self.qkv = nn.Linear(dim, 3 * dim, dtype=torch.float16)
        self.proj = nn.Linear(dim, dim, dtype=torch.float16)
        nn.init.trunc_normal_(self.qkv.weight, std=2 * dim**-0.5)
        nn.init.trunc_normal_(self.proj.weight, std=dim**-0.5)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(b, n, c)
        return x + self.proj(y)


def get_inputs():
    return [torch.randn(B, N, C, dtype=torch.float16)]


def get_init_inputs():
    return [C, H]
