"""What makes a model awkward: a graph break, a cache that changes in place, a materialised mask, a compiled module."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norm, self.query, self.out = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)
        self.shares = [float(one) for one in torch.linspace(0, 0.1, 2)]  # reads values, as constructors do

    def forward(self, x, cache, at, mask):
        y = self.query(self.norm(x))
        torch._dynamo.graph_break()
        cache.index_copy_(1, at, y)
        q, kv = (one.unflatten(-1, (4, -1)).transpose(1, 2) for one in (y, cache))
        made = F.scaled_dot_product_attention(q, kv, kv, attn_mask=mask)
        return F.relu(self.out(made.transpose(1, 2).flatten(2))) + x


def build():
    return torch.compile(Net(), dynamic=True)


def inputs():
    mask = torch.ones(24, 24, dtype=torch.bool).tril()
    return {"step": [torch.randn(2, 24, 64), torch.zeros(2, 24, 64), torch.randperm(24), mask]}
