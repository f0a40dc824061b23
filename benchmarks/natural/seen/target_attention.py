"""Attention of a candidate item over a user's history, with a small network in place of a dot product.

Ranking models in shops use it; the weights are not normalised, so that the strength of an interest is kept.
"""

import torch
import torch.nn as nn

batch = 4096
history = 50
num_items = 200000
dim = 64


class Model(nn.Module):
    def __init__(self, num_items: int, dim: int, hidden: int = 80):
        super().__init__()
        self.items = nn.Embedding(num_items, dim, padding_idx=0)
        self.att1 = nn.Linear(4 * dim, hidden)
        self.att2 = nn.Linear(hidden, 1)
        self.act = nn.PReLU(hidden)
        self.tower = nn.Sequential(nn.Linear(2 * dim, 200), nn.PReLU(), nn.Linear(200, 1))

    def forward(self, candidate, clicked):
        """candidate: (batch,) item ids; clicked: (batch, history) item ids, 0 where the history is shorter."""
        query = self.items(candidate)
        keys = self.items(clicked)
        expanded = query.unsqueeze(1).expand_as(keys)
        pairs = torch.cat((expanded, keys, expanded - keys, expanded * keys), dim=-1)
        b, n, _ = pairs.shape
        hidden = self.act(self.att1(pairs.view(b * n, -1)))
        weights = self.att2(hidden).view(b, n)
        weights = weights.masked_fill(clicked == 0, 0.0)
        interest = torch.bmm(weights.unsqueeze(1), keys).squeeze(1)
        return self.tower(torch.cat((interest, query), dim=-1)).squeeze(-1)


def get_inputs():
    clicked = torch.randint(1, num_items, (batch, history))
    lengths = torch.randint(1, history + 1, (batch, 1))
    clicked = clicked * (torch.arange(history) < lengths)
    return [torch.randint(1, num_items, (batch,)), clicked]


def get_init_inputs():
    return [num_items, dim]
