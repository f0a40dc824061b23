"""Grouped-query self-attention with rotary positions, as in most open language models since 2023.

This is the prefill of a prompt: every query attends to all earlier tokens.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 2
seq_len = 2048
hidden_size = 4096
num_heads = 32
num_kv_heads = 8
rope_base = 500000.0


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Model(nn.Module):
    def __init__(self, hidden_size, num_heads, num_kv_heads, max_positions, rope_base):
        super().__init__()
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = hidden_size // num_heads
        self.q_proj = nn.Linear(hidden_size, num_heads * self.head_dim, bias=False, dtype=torch.bfloat16)
        self.k_proj = nn.Linear(hidden_size, num_kv_heads * self.head_dim, bias=False, dtype=torch.bfloat16)
        self.v_proj = nn.Linear(hidden_size, num_kv_heads * self.head_dim, bias=False, dtype=torch.bfloat16)
        self.o_proj = nn.Linear(num_heads * self.head_dim, hidden_size, bias=False, dtype=torch.bfloat16)
        inv_freq = 1.0 / rope_base ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        angles = torch.outer(torch.arange(max_positions).float(), inv_freq)
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos().to(torch.bfloat16), persistent=False)
        self.register_buffer("sin", angles.sin().to(torch.bfloat16), persistent=False)

    def forward(self, hidden_states):
        b, t, _ = hidden_states.shape
        q = self.q_proj(hidden_states).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(hidden_states).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(hidden_states).view(b, t, self.num_kv_heads, self.head_dim).transpose(1, 2)
        cos, sin = self.cos[:t], self.sin[:t]
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        groups = self.num_heads // self.num_kv_heads
        k = k.repeat_interleave(groups, dim=1)
        v = v.repeat_interleave(groups, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(b, t, -1))


def get_inputs():
    return [torch.randn(batch_size, seq_len, hidden_size, dtype=torch.bfloat16)]


def get_init_inputs():
    return [hidden_size, num_heads, num_kv_heads, seq_len, rope_base]
