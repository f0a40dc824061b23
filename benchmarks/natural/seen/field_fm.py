"""Factorisation machine over categorical fields: a bias, linear weights and all pairs of embeddings in linear time."""

import torch
import torch.nn as nn

batch_size = 65536
field_sizes = (10000, 5000, 2000, 1000, 500, 200, 100, 50, 20, 10)
embed_dim = 32


class Model(nn.Module):
    def __init__(self, field_sizes, embed_dim):
        super().__init__()
        total = sum(field_sizes)
        self.linear = nn.Embedding(total, 1)
        self.factors = nn.Embedding(total, embed_dim)
        self.bias = nn.Parameter(torch.zeros(1))
        sizes = torch.tensor([0, *field_sizes[:-1]])
        self.register_buffer("offsets", torch.cumsum(sizes, dim=0))
        nn.init.normal_(self.factors.weight, std=0.1)

    def forward(self, fields, values):
        """fields: (batch, number of fields), a category of each; values: the same shape, what it counts."""
        ids = fields + self.offsets
        first_order = (self.linear(ids).squeeze(-1) * values).sum(dim=1)
        vectors = self.factors(ids) * values.unsqueeze(-1)
        square_of_sum = vectors.sum(dim=1).square()
        sum_of_squares = vectors.square().sum(dim=1)
        second_order = 0.5 * (square_of_sum - sum_of_squares).sum(dim=1)
        return self.bias + first_order + second_order


def get_inputs():
    fields = torch.stack([torch.randint(0, size, (batch_size,)) for size in field_sizes], dim=1)
    return [fields, torch.randn(batch_size, len(field_sizes))]


def get_init_inputs():
    return [list(field_sizes), embed_dim]
