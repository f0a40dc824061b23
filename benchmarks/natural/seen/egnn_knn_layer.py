import torch
import torch.nn as nn


class Model(nn.Module):
    """E(n)-equivariant graph layer on a fixed-size neighbour list (padded with a mask)."""

    def __init__(self, dim, edge_dim, hidden):
        super().__init__()
        self.edge_mlp = nn.Sequential(
            nn.Linear(2 * dim + 1 + edge_dim, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU())
        self.att = nn.Linear(hidden, 1)
        self.coord_mlp = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1, bias=False))
        self.node_mlp = nn.Sequential(nn.Linear(dim + hidden, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, h, x, nbr, edge_attr, nbr_mask):
        N, K = nbr.shape
        hj = h[nbr]
        hi = h[:, None, :].expand(N, K, h.shape[-1])
        diff = x[:, None, :] - x[nbr]
        d2 = (diff ** 2).sum(-1, keepdim=True)
        m = self.edge_mlp(torch.cat([hi, hj, d2, edge_attr], dim=-1))
        m = m * torch.sigmoid(self.att(m))
        mask = nbr_mask.unsqueeze(-1).to(m.dtype)
        m = m * mask

        unit = diff / (torch.sqrt(d2 + 1e-8) + 1.0)
        trans = unit * torch.tanh(self.coord_mlp(m)) * mask
        count = mask.sum(1).clamp(min=1.0)
        x_new = x + trans.sum(1) / count

        agg = m.sum(1)
        h_new = h + self.node_mlp(torch.cat([h, agg], dim=-1))
        return h_new, x_new


nodes = 15000
neighbours = 24
dim = 128
edge_dim = 20
hidden = 128


def get_inputs():
    h = torch.randn(nodes, dim)
    x = 3.0 * torch.randn(nodes, 3)
    nbr = torch.randint(0, nodes, (nodes, neighbours))
    edge_attr = torch.randn(nodes, neighbours, edge_dim)
    nbr_mask = torch.rand(nodes, neighbours) > 0.15
    return [h, x, nbr, edge_attr, nbr_mask]


def get_init_inputs():
    return [dim, edge_dim, hidden]
