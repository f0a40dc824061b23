"""Explicit steps of heat conduction in a block of varying conductivity, with fixed temperature on its faces.

A stencil as simulation codes write it with slices.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

nx = 192
ny = 192
nz = 192
steps = 4


class Model(nn.Module):
    def __init__(self, steps: int, dt: float = 0.1, spacing: float = 1.0):
        super().__init__()
        self.steps = steps
        self.factor = dt / spacing**2

    @staticmethod
    def flux(u, k, dim):
        """Conductivity between cells times the difference of their temperatures, along one dimension."""
        n = u.shape[dim]
        here, there = u.narrow(dim, 0, n - 1), u.narrow(dim, 1, n - 1)
        between = 0.5 * (k.narrow(dim, 0, n - 1) + k.narrow(dim, 1, n - 1))
        return between * (there - here)

    def forward(self, temperature, conductivity, source):
        u = temperature
        for _ in range(self.steps):
            total = source[1:-1, 1:-1, 1:-1]
            for dim in range(3):
                f = self.flux(u, conductivity, dim)
                change = f.diff(dim=dim)
                for other in range(3):
                    if other != dim:
                        change = change.narrow(other, 1, change.shape[other] - 2)
                total = total + change
            u = u + self.factor * F.pad(total, (1, 1, 1, 1, 1, 1))
        return u


def get_inputs():
    conductivity = 0.5 + torch.rand(nx, ny, nz)
    return [torch.randn(nx, ny, nz), conductivity, 0.1 * torch.randn(nx, ny, nz)]


def get_init_inputs():
    return [steps]
