"""Exponential moving average of a model's weights with a decay that warms up, kept in float32 beside half-precision
weights. Returns the new averages and how far the weights are from them."""

import torch
import torch.nn as nn

width = 1024
layers = 6


class Model(nn.Module):
    def __init__(self, decay: float = 0.9999, inv_gamma: float = 1.0, power: float = 0.75):
        super().__init__()
        self.decay = decay
        self.inv_gamma = inv_gamma
        self.power = power

    def current_decay(self, step):
        warm = 1 - (1 + step / self.inv_gamma) ** -self.power
        return min(self.decay, max(0.0, warm))

    def forward(self, averages, weights, step):
        decay = self.current_decay(step)
        new = []
        drift = []
        for average, weight in zip(averages, weights, strict=True):
            weight = weight.float()
            updated = torch.lerp(average, weight, 1 - decay)
            new.append(updated)
            drift.append((weight - updated).norm() / updated.norm().clamp(min=1e-12))
        return new, torch.stack(drift)


def get_inputs():
    shapes = []
    for _ in range(layers):
        shapes += [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width), (width,)]
    averages = [0.02 * torch.randn(s) for s in shapes]
    weights = [(0.02 * torch.randn(s)).to(torch.bfloat16) for s in shapes]
    return [averages, weights, 1500]


def get_init_inputs():
    return []
