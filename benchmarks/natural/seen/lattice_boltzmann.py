"""One step of a two-dimensional lattice Boltzmann fluid: collision towards equilibrium, bounce-back at walls, and
streaming to the neighbours with periodic borders. Flow solvers repeat it many thousand times."""

import torch
import torch.nn as nn

height = 2048
width = 2048

DIRECTIONS = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)]
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


class Model(nn.Module):
    def __init__(self, tau=0.6):
        super().__init__()
        self.omega = 1.0 / tau
        self.register_buffer("weights", torch.tensor(WEIGHTS).view(9, 1, 1))
        self.register_buffer("velocities", torch.tensor(DIRECTIONS, dtype=torch.float32))

    def forward(self, f, wall):
        """f: (9, height, width) populations; wall: (height, width), True where there is an obstacle."""
        rho = f.sum(dim=0)
        momentum = torch.einsum("qd,qhw->dhw", self.velocities, f)
        u = momentum / rho.clamp(min=1e-6)
        along = torch.einsum("qd,dhw->qhw", self.velocities, u)
        speed = u.square().sum(dim=0)
        equilibrium = self.weights * rho * (1 + 3 * along + 4.5 * along.square() - 1.5 * speed)
        collided = f + self.omega * (equilibrium - f)
        collided = torch.where(wall, f[OPPOSITE], collided)
        streamed = [torch.roll(collided[q], shifts=shift, dims=(0, 1)) for q, shift in enumerate(DIRECTIONS)]
        return torch.stack(streamed), torch.stack((rho, u[0], u[1]))


def get_inputs():
    weights = torch.tensor(WEIGHTS).view(9, 1, 1)
    f = weights * (1.0 + 0.05 * torch.randn(9, height, width))
    return [f, torch.rand(height, width) < 0.05]


def get_init_inputs():
    return []
