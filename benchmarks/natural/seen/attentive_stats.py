"""Attentive statistics pooling of a speaker embedding network: a weight for every channel and frame, then weighted mean
and standard deviation, a norm and a linear layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, CHANNELS, FRAMES = 64, 1536, 300


class Model(nn.Module):
    def __init__(self, channels, bottleneck=128, embedding=192):
        super().__init__()
        self.attention = nn.Sequential(
            nn.Conv1d(3 * channels, bottleneck, kernel_size=1),
            nn.ReLU(),
            nn.BatchNorm1d(bottleneck),
            nn.Tanh(),
            nn.Conv1d(bottleneck, channels, kernel_size=1),
        )
        self.norm = nn.BatchNorm1d(2 * channels)
        self.embed = nn.Linear(2 * channels, embedding)

    def forward(self, x):
        mean = x.mean(dim=2, keepdim=True)
        std = x.var(dim=2, keepdim=True, unbiased=False).clamp(min=1e-6).sqrt()
        context = torch.cat((x, mean.expand_as(x), std.expand_as(x)), dim=1)
        weights = torch.softmax(self.attention(context), dim=2)
        mu = (weights * x).sum(dim=2)
        variance = (weights * x.square()).sum(dim=2) - mu.square()
        sigma = variance.clamp(min=1e-4).sqrt()
        embedding = self.embed(self.norm(torch.cat((mu, sigma), dim=1)))
        return F.normalize(embedding, dim=1)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, FRAMES)]


def get_init_inputs():
    return [CHANNELS]
