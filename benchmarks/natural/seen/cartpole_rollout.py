"""Many cart-pole systems rolled out in parallel under a linear policy, with the summed cost of each.

Planners and evolution strategies evaluate thousands of policies like this on a GPU.
"""

import torch
import torch.nn as nn

rollouts = 65536
steps = 32


class Model(nn.Module):
    def __init__(self, steps, dt=0.02, gravity=9.8, mass_cart=1.0, mass_pole=0.1, half_length=0.5, max_force=10.0):
        super().__init__()
        self.steps, self.dt = steps, dt
        self.gravity = gravity
        self.mass_pole = mass_pole
        self.total_mass = mass_cart + mass_pole
        self.half_length = half_length
        self.max_force = max_force

    def accelerations(self, theta, theta_dot, force):
        sin, cos = torch.sin(theta), torch.cos(theta)
        pull = (force + self.mass_pole * self.half_length * theta_dot**2 * sin) / self.total_mass
        inertia = self.half_length * (4.0 / 3.0 - self.mass_pole * cos**2 / self.total_mass)
        theta_acc = (self.gravity * sin - cos * pull) / inertia
        x_acc = pull - self.mass_pole * self.half_length * theta_acc * cos / self.total_mass
        return x_acc, theta_acc

    def forward(self, state, gains):
        """state, gains: (rollouts, 4); a state is position, velocity, angle and its rate."""
        x, x_dot, theta, theta_dot = state.unbind(dim=1)
        cost = torch.zeros_like(x)
        for _ in range(self.steps):
            now = torch.stack((x, x_dot, theta, theta_dot), dim=1)
            force = self.max_force * torch.tanh((now * gains).sum(dim=1))
            x_acc, theta_acc = self.accelerations(theta, theta_dot, force)
            x_dot = x_dot + self.dt * x_acc
            theta_dot = theta_dot + self.dt * theta_acc
            x = x + self.dt * x_dot
            theta = theta + self.dt * theta_dot
            cost = cost + theta**2 + 0.1 * x**2 + 0.001 * force**2
        return torch.stack((x, x_dot, theta, theta_dot), dim=1), cost


def get_inputs():
    return [0.1 * torch.randn(rollouts, 4), torch.randn(rollouts, 4)]


def get_init_inputs():
    return [steps]
