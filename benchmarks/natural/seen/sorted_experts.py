"""The expert part of a sparse feed-forward layer: tokens are sorted by their expert, run through it in padded batches
and added back with the router's weights."""

import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 4096
dim = 2048
ffn_dim = 1024
num_experts = 16
top_k = 2
capacity = 1024


class Model(nn.Module):
    def __init__(self, num_experts, dim, ffn_dim, capacity):
        super().__init__()
        self.num_experts = num_experts
        self.capacity = capacity
        self.w1 = nn.Parameter(torch.randn(num_experts, dim, ffn_dim) / dim**0.5)
        self.w3 = nn.Parameter(torch.randn(num_experts, dim, ffn_dim) / dim**0.5)
        self.w2 = nn.Parameter(torch.randn(num_experts, ffn_dim, dim) / ffn_dim**0.5)

    def forward(self, x, expert_ids, expert_weights):
        n, k = expert_ids.shape
        flat = expert_ids.reshape(-1)
        order = torch.argsort(flat, stable=True)
        sorted_experts = flat[order]
        sizes = torch.bincount(flat, minlength=self.num_experts)
        starts = sizes.cumsum(0) - sizes
        rank = torch.arange(n * k, device=x.device) - starts[sorted_experts]
        fits = rank < self.capacity
        slot = torch.where(fits, sorted_experts * self.capacity + rank, self.num_experts * self.capacity)

        token = order // k
        buffer = x.new_zeros(self.num_experts * self.capacity + 1, x.shape[1])
        buffer = buffer.index_copy(0, slot, x[token])
        grouped = buffer[:-1].view(self.num_experts, self.capacity, -1)
        hidden = F.silu(torch.bmm(grouped, self.w1)) * torch.bmm(grouped, self.w3)
        result = torch.bmm(hidden, self.w2).view(-1, x.shape[1])

        picked = result[slot.clamp(max=result.shape[0] - 1)]
        scale = expert_weights.reshape(-1)[order] * fits
        return torch.zeros_like(x).index_add(0, token, picked * scale.unsqueeze(-1))


def get_inputs():
    logits = torch.randn(tokens, num_experts)
    weights, ids = logits.softmax(-1).topk(top_k, dim=-1)
    return [torch.randn(tokens, dim), ids, weights]


def get_init_inputs():
    return [num_experts, dim, ffn_dim, capacity]
