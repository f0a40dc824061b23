"""BLOOM-7b1 self attention with ALiBi: 32 heads of 128, fused qkv of one layer already computed, 2 x 1024 tokens."""
import math

import torch
import torch.nn as nn

batch = 2
tokens = 1024
heads = 32
head_dim = 128


def build_slopes(n):
    closest = 2 ** math.floor(math.log2(n))
    base = 2.0 ** (-(2.0 ** -(math.log2(closest) - 3)))
    return torch.pow(torch.tensor(base), torch.arange(1, 1 + n, dtype=torch.float32))


class Model(nn.Module):
    def __init__(self, num_heads, dim):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim
        self.inv_norm_factor = 1.0 / math.sqrt(dim)
        self.register_buffer("slopes", build_slopes(num_heads))

    def forward(self, fused_qkv, attention_mask):
        bsz, length, _ = fused_qkv.shape
        fused_qkv = fused_qkv.view(bsz, length, self.num_heads, 3, self.head_dim)
        query = fused_qkv[..., 0, :].transpose(1, 2).reshape(-1, length, self.head_dim)
        key = fused_qkv[..., 1, :].permute(0, 2, 3, 1).reshape(-1, self.head_dim, length)
        value = fused_qkv[..., 2, :].transpose(1, 2).reshape(-1, length, self.head_dim)
        position = ((attention_mask.cumsum(dim=-1) - 1) * attention_mask)[:, None, :]
        alibi = (self.slopes[None, :, None] * position).reshape(-1, 1, length).to(query.dtype)
        scores = alibi.baddbmm(batch1=query, batch2=key, beta=1.0, alpha=self.inv_norm_factor)
        scores = scores.view(bsz, self.num_heads, length, length).float()
        future = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, torch.finfo(torch.float32).min)
        probs = torch.softmax(scores, dim=-1).to(value.dtype).view(-1, length, length)
        context = torch.bmm(probs, value).view(bsz, self.num_heads, length, self.head_dim)
        return context.permute(0, 2, 1, 3).reshape(bsz, length, -1)


def get_inputs():
    qkv = torch.randn(batch, tokens, 3 * heads * head_dim) * 1.5
    return [qkv.to(torch.bfloat16), torch.ones(batch, tokens, dtype=torch.long)]


def get_init_inputs():
    return [heads, head_dim]
