"""Embedding of diffusion times: sines and cosines, a two-layer network, and the sum with an embedding of the class."""

import math

import torch
import torch.nn as nn

batch_size = 4096
frequencies = 256
hidden = 1152
num_classes = 1000


class Model(nn.Module):
    def __init__(self, frequencies, hidden, num_classes, max_period=10000.0):
        super().__init__()
        half = frequencies // 2
        freqs = torch.exp(-math.log(max_period) * torch.arange(half, dtype=torch.float32) / half)
        self.register_buffer("freqs", freqs)
        self.mlp = nn.Sequential(nn.Linear(frequencies, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        # one more row for samples without a class, which guidance needs
        self.label_embedding = nn.Embedding(num_classes + 1, hidden)

    def forward(self, t, labels):
        angles = t[:, None] * self.freqs[None, :]
        embedding = torch.cat([angles.cos(), angles.sin()], dim=-1)
        return self.mlp(embedding) + self.label_embedding(labels)


def get_inputs():
    return [1000.0 * torch.rand(batch_size), torch.randint(0, num_classes + 1, (batch_size,))]


def get_init_inputs():
    return [frequencies, hidden, num_classes]
