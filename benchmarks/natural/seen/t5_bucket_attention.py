import math

import torch
import torch.nn as nn

batch_size = 16
seq_len = 512
d_model = 768
num_heads = 12
num_buckets = 32
max_distance = 128


class Model(nn.Module):
    """T5 encoder self-attention with bucketed relative position bias and a padding mask."""

    def __init__(self, d_model, num_heads, num_buckets, max_distance):
        super().__init__()
        self.n_heads = num_heads
        self.d_kv = d_model // num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        self.relative_attention_bias = nn.Embedding(num_buckets, num_heads)
        self.layer_norm = nn.Parameter(torch.ones(d_model))

    def _bucket(self, rel):
        n = self.num_buckets // 2
        bucket = (rel > 0).long() * n
        rel = rel.abs()
        max_exact = n // 2
        large = max_exact + (
            torch.log(rel.float() / max_exact) / math.log(self.max_distance / max_exact) * (n - max_exact)
        ).long()
        large = torch.clamp(large, max=n - 1)
        return bucket + torch.where(rel < max_exact, rel, large)

    def forward(self, x, attention_mask):
        B, T, C = x.shape
        var = x.pow(2).mean(-1, keepdim=True)
        h = self.layer_norm * (x * torch.rsqrt(var + 1e-6))
        q = self.q(h).view(B, T, self.n_heads, self.d_kv).transpose(1, 2)
        k = self.k(h).view(B, T, self.n_heads, self.d_kv).transpose(1, 2)
        v = self.v(h).view(B, T, self.n_heads, self.d_kv).transpose(1, 2)
        pos = torch.arange(T, device=x.device)
        bucket = self._bucket(pos[None, :] - pos[:, None])
        bias = self.relative_attention_bias(bucket).permute(2, 0, 1).unsqueeze(0)
        scores = torch.matmul(q, k.transpose(-1, -2)) + bias
        scores = scores.masked_fill(~attention_mask[:, None, None, :], torch.finfo(scores.dtype).min)
        p = torch.softmax(scores.float(), dim=-1).type_as(scores)
        a = torch.matmul(p, v).transpose(1, 2).reshape(B, T, C)
        return x + self.o(a)


def get_inputs():
    lengths = torch.randint(seq_len // 4, seq_len + 1, (batch_size, 1))
    mask = torch.arange(seq_len)[None, :] < lengths
    return [torch.randn(batch_size, seq_len, d_model), mask]


def get_init_inputs():
    return [d_model, num_heads, num_buckets, max_distance]
