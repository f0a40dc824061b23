"""Fused QKV projection with bias of Qwen2.5-7B: 3584 -> 28 query, 4 key and 4 value heads of 128, 48 tokens."""
import torch
from torch import nn

N_TOKENS = 48
HIDDEN_SIZE = 3584
N_HEAD = 28
N_KV_HEAD = 4
HEAD_DIM = 128


class Model(nn.Module):
    def __init__(self, hidden, n_head, n_kv_head, head_dim):
        super().__init__()
        self.n_head, self.n_kv_head, self.head_dim = n_head, n_kv_head, head_dim
        self.q_size = n_head * head_dim
        self.kv_size = n_kv_head * head_dim
        out = self.q_size + 2 * self.kv_size
        self.weight = nn.Parameter((torch.randn(out, hidden) / hidden**0.5).bfloat16())
        self.bias = nn.Parameter(torch.randn(out).bfloat16())

    def forward(self, x):
        qkv = nn.functional.linear(x, self.weight, self.bias)
        q, k, v = qkv.split([self.q_size, self.kv_size, self.kv_size], dim=-1)
        q = q.view(-1, self.n_head, self.head_dim).transpose(0, 1).contiguous()
        k = k.view(-1, self.n_kv_head, self.head_dim).transpose(0, 1).contiguous()
        v = v.view(-1, self.n_kv_head, self.head_dim).transpose(0, 1).contiguous()
        return q, k, v


def get_inputs():
    return [torch.randn(N_TOKENS, HIDDEN_SIZE).bfloat16()]


def get_init_inputs():
    return [HIDDEN_SIZE, N_HEAD, N_KV_HEAD, HEAD_DIM]
