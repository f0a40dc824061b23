"""One update of a sampling-based controller: a point robot follows noisy control sequences, and the sequences are
averaged with weights that fall exponentially with their cost."""

import torch
import torch.nn as nn

samples = 16384
horizon = 40
controls = 2
obstacles = 12


class Model(nn.Module):
    def __init__(self, dt=0.1, temperature=1.0, smoothing=0.7, limit=3.0):
        super().__init__()
        self.dt = dt
        self.temperature = temperature
        self.smoothing = smoothing
        self.limit = limit

    def forward(self, position, velocity, nominal, noise, obstacle_centres, goal):
        """nominal: (horizon, 2); noise: (samples, horizon, 2); obstacle_centres: (obstacles, 2)."""
        u = (nominal + noise).clamp(-self.limit, self.limit)
        v = velocity + self.dt * torch.cumsum(u, dim=1)
        p = position + self.dt * torch.cumsum(v, dim=1)

        to_goal = (p - goal).square().sum(dim=-1)
        squared = (p.unsqueeze(2) - obstacle_centres).square().sum(dim=-1)
        crash = torch.exp(-4.0 * squared).sum(dim=-1)
        effort = u.square().sum(dim=-1)
        cost = (to_goal + 20.0 * crash + 0.05 * effort).sum(dim=1) + 10.0 * to_goal[:, -1]

        shifted = cost - cost.min()
        weights = torch.softmax(-shifted / (self.temperature * cost.std() + 1e-6), dim=0)
        update = torch.einsum("s,sta->ta", weights, u)
        new = self.smoothing * update + (1 - self.smoothing) * nominal
        return torch.cat((new[1:], new[-1:])), weights


def get_inputs():
    return [
        torch.randn(2),
        torch.randn(2),
        torch.randn(horizon, controls),
        torch.randn(samples, horizon, controls),
        2.0 * torch.randn(obstacles, 2),
        4.0 * torch.randn(2),
    ]


def get_init_inputs():
    return []
