"""Click prediction: pooled embeddings of sparse features, a small network over dense ones, all pairwise dot products,
and a network on top."""

from itertools import pairwise

import torch
import torch.nn as nn

batch_size = 8192
num_dense = 13
num_tables = 26
rows = 100000
dim = 64
bag = 4


def mlp(sizes):
    layers = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers)


class Model(nn.Module):
    def __init__(self, num_dense, num_tables, rows, dim):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for _ in range(num_tables))
        self.bottom = mlp([num_dense, 512, 256, dim])
        features = num_tables + 1
        pairs = features * (features - 1) // 2
        self.top = nn.Sequential(mlp([pairs + dim, 512, 256]), nn.Linear(256, 1))
        row, col = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("row", row)
        self.register_buffer("col", col)

    def forward(self, dense, sparse):
        """dense: (batch, num_dense); sparse: (num_tables, batch, bag) row numbers."""
        bottom = self.bottom(dense)
        pooled = [table(ids) for table, ids in zip(self.tables, sparse, strict=True)]
        stacked = torch.stack([bottom, *pooled], dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        flat = products[:, self.row, self.col]
        return torch.sigmoid(self.top(torch.cat((bottom, flat), dim=1))).squeeze(1)


def get_inputs():
    return [torch.randn(batch_size, num_dense), torch.randint(0, rows, (num_tables, batch_size, bag))]


def get_init_inputs():
    return [num_dense, num_tables, rows, dim]
