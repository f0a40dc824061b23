import torch
import torch.nn as nn

BATCH = 2
SEQ = 8192
HEADS = 28
KV_HEADS = 4
HEAD_DIM = 128
SECTIONS = [16, 24, 24]


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class Model(nn.Module):
    """QK-norm followed by multimodal rotary embedding (temporal, height, width sections)."""

    def __init__(self, heads, kv_heads, head_dim, sections, theta=1e6):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim
        self.sections = list(sections)
        self.q_norm = RMSNorm(head_dim)
        self.k_norm = RMSNorm(head_dim)
        inv = 1.0 / theta ** (torch.arange(0, head_dim, 2).float() / head_dim)
        self.register_buffer("inv_freq", inv)

    def tables(self, position_ids, dtype):
        freqs = position_ids[..., None].float() * self.inv_freq          # 3, B, S, D/2
        emb = torch.cat((freqs, freqs), dim=-1)
        split = self.sections * 2
        cos = torch.cat([m[i % 3] for i, m in enumerate(emb.cos().split(split, dim=-1))], dim=-1)
        sin = torch.cat([m[i % 3] for i, m in enumerate(emb.sin().split(split, dim=-1))], dim=-1)
        return cos.unsqueeze(1).to(dtype), sin.unsqueeze(1).to(dtype)

    def forward(self, qkv, position_ids):
        b, s, _ = qkv.shape
        d = self.head_dim
        q, k, v = qkv.split([self.heads * d, self.kv_heads * d, self.kv_heads * d], dim=-1)
        q = self.q_norm(q.view(b, s, self.heads, d)).transpose(1, 2).to(qkv.dtype)
        k = self.k_norm(k.view(b, s, self.kv_heads, d)).transpose(1, 2).to(qkv.dtype)
        v = v.view(b, s, self.kv_heads, d).transpose(1, 2)
        cos, sin = self.tables(position_ids, qkv.dtype)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        return q, k, v.contiguous()


def get_inputs():
    qkv = torch.randn(BATCH, SEQ, (HEADS + 2 * KV_HEADS) * HEAD_DIM, dtype=torch.bfloat16)
    t = torch.arange(SEQ).expand(BATCH, SEQ)
    pos = torch.stack([t // 256, (t // 16) % 16, t % 16])
    return [qkv, pos]


def get_init_inputs():
    return [HEADS, KV_HEADS, HEAD_DIM, SECTIONS]
