"""Qwen3-8B before attention: RMSNorm of each query and key head, then rotary embedding; 32/8 heads of 128."""
import torch
from torch import nn

B = 2
T = 1024
NUM_Q = 32
NUM_K = 8
HEAD_DIM = 128
THETA = 1000000


def rms(x, weight, eps=1e-6):
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return weight * y.to(x.dtype)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class Model(nn.Module):
    def __init__(self, head_dim, theta):
        super().__init__()
        self.q_norm = nn.Parameter((1 + 0.2 * torch.randn(head_dim)).to(torch.bfloat16))
        self.k_norm = nn.Parameter((1 + 0.2 * torch.randn(head_dim)).to(torch.bfloat16))
        inv_freq = 1.0 / (theta ** (torch.arange(0, head_dim, 2).float() / head_dim))
        self.register_buffer("inv_freq", inv_freq, persistent=False)

    def forward(self, q, k, position_ids):
        q = rms(q.view(*q.shape[:2], -1, HEAD_DIM), self.q_norm).transpose(1, 2)
        k = rms(k.view(*k.shape[:2], -1, HEAD_DIM), self.k_norm).transpose(1, 2)
        freqs = position_ids[:, :, None].float() * self.inv_freq[None, None, :]
        emb = torch.cat((freqs, freqs), dim=-1).unsqueeze(1)
        cos, sin = emb.cos().to(q.dtype), emb.sin().to(q.dtype)
        return (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)


def get_inputs():
    q = torch.randn(B, T, NUM_Q * HEAD_DIM).to(torch.bfloat16)
    k = torch.randn(B, T, NUM_K * HEAD_DIM).to(torch.bfloat16)
    return [q, k, torch.arange(T).unsqueeze(0).repeat(B, 1)]


def get_init_inputs():
    return [HEAD_DIM, THETA]
