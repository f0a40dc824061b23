"""Interaction block of a molecular network: filters are computed from distances between atoms, multiply the neighbours'
features, and are summed at each atom."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

atoms = 20000
edges = 400000
features = 128
gaussians = 50
cutoff = 5.0


def shifted_softplus(x):
    return F.softplus(x) - math.log(2.0)


class Model(nn.Module):
    def __init__(self, features, gaussians, cutoff):
        super().__init__()
        self.cutoff = cutoff
        centres = torch.linspace(0.0, cutoff, gaussians)
        self.register_buffer("centres", centres)
        self.gamma = 0.5 / (centres[1] - centres[0]).item() ** 2
        self.filter1 = nn.Linear(gaussians, features)
        self.filter2 = nn.Linear(features, features)
        self.lin_in = nn.Linear(features, features, bias=False)
        self.lin_out = nn.Linear(features, features)
        self.mix = nn.Linear(features, features)

    def forward(self, x, positions, edge_index):
        src, dst = edge_index
        distance = (positions[src] - positions[dst]).square().sum(dim=-1).add(1e-12).sqrt()
        basis = torch.exp(-self.gamma * (distance[:, None] - self.centres[None, :]) ** 2)
        envelope = 0.5 * (torch.cos(distance * math.pi / self.cutoff) + 1.0)
        envelope = envelope * (distance < self.cutoff)
        weights = self.filter2(shifted_softplus(self.filter1(basis))) * envelope[:, None]
        messages = self.lin_in(x)[src] * weights
        gathered = torch.zeros_like(x).index_add_(0, dst, messages)
        return x + self.mix(shifted_softplus(self.lin_out(gathered)))


def get_inputs():
    return [
        torch.randn(atoms, features),
        2.0 * torch.randn(atoms, 3),
        torch.randint(0, atoms, (2, edges)),
    ]


def get_init_inputs():
    return [features, gaussians, cutoff]
