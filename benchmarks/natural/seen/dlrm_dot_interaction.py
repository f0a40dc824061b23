import torch
import torch.nn as nn

BATCH = 16384
DENSE = 13
TABLES = 26
ROWS = 20000
DIM = 64
HOTNESS = 4


def mlp(sizes, final_relu=True):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        fc = nn.Linear(a, b)
        nn.init.normal_(fc.weight, std=(2 / (a + b)) ** 0.5)
        nn.init.normal_(fc.bias, std=(1 / b) ** 0.5)
        layers.append(fc)
        if final_relu or i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Model(nn.Module):
    """DLRM: multi-hot embedding sum, bottom MLP, pairwise dot interaction, top MLP."""

    def __init__(self, dense, tables, rows, dim, bottom=(512, 256), top=(512, 256, 1)):
        super().__init__()
        self.tables = tables
        self.weight = nn.Parameter(torch.randn(tables * rows, dim) * 0.2)
        self.register_buffer("offsets", (torch.arange(tables) * rows).view(1, tables, 1))
        self.bottom = mlp([dense, *bottom, dim])
        n = tables + 1
        self.top = mlp([dim + n * (n - 1) // 2, *top], final_relu=False)
        li, lj = torch.tril_indices(n, n, offset=-1)
        self.register_buffer("li", li)
        self.register_buffer("lj", lj)

    def forward(self, dense, sparse, per_sample_weights):
        x = self.bottom(torch.log1p(dense))
        emb = self.weight[sparse + self.offsets]                     # B, T, hot, D
        emb = (emb * per_sample_weights.unsqueeze(-1)).sum(2)
        z = torch.cat([x.unsqueeze(1), emb], dim=1)
        inter = torch.bmm(z, z.transpose(1, 2))
        flat = inter[:, self.li, self.lj]
        return torch.sigmoid(self.top(torch.cat([x, flat], dim=1))).squeeze(-1)


def get_inputs():
    return [
        torch.rand(BATCH, DENSE) * 10,
        torch.randint(0, ROWS, (BATCH, TABLES, HOTNESS)),
        torch.rand(BATCH, TABLES, HOTNESS),
    ]


def get_init_inputs():
    return [DENSE, TABLES, ROWS, DIM]
