import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
LOOKBACK = 512
CHANNELS = 321
HORIZON = 96
PATCH = 16
STRIDE = 8
D_MODEL = 128


class RevIN(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(1 + 0.1 * torch.randn(channels))
        self.beta = nn.Parameter(0.1 * torch.randn(channels))

    def normalise(self, x):
        mean = x.mean(dim=1, keepdim=True)
        std = torch.sqrt(x.var(dim=1, keepdim=True, unbiased=False) + self.eps)
        return (x - mean) / std * self.gamma + self.beta, mean, std

    def denormalise(self, x, mean, std):
        x = (x - self.beta) / (self.gamma + self.eps * self.eps)
        return x * std + mean


class Model(nn.Module):
    """Channel-independent patch forecaster: RevIN, patch embed, patch-mixing MLP, flatten head."""

    def __init__(self, lookback, channels, horizon, patch, stride, d_model):
        super().__init__()
        self.patch, self.stride = patch, stride
        n = (lookback - patch) // stride + 2          # one extra from end padding
        self.revin = RevIN(channels)
        self.embed = nn.Linear(patch, d_model)
        self.pos = nn.Parameter(torch.randn(1, n, d_model) * 0.02)
        self.norm = nn.LayerNorm(d_model)
        self.mix = nn.Linear(n, n)
        self.head = nn.Linear(n * d_model, horizon)

    def forward(self, x):
        b, l, c = x.shape
        x, mean, std = self.revin.normalise(x)
        x = F.pad(x.transpose(1, 2), (0, self.stride), mode="replicate")
        x = x.unfold(-1, self.patch, self.stride)                 # B, C, N, P
        z = self.embed(x).reshape(b * c, -1, self.pos.shape[-1]) + self.pos
        z = z + F.gelu(self.mix(self.norm(z).transpose(1, 2))).transpose(1, 2)
        y = self.head(z.flatten(1)).view(b, c, -1).transpose(1, 2)
        return self.revin.denormalise(y, mean, std)


def get_inputs():
    trend = torch.cumsum(torch.randn(BATCH, LOOKBACK, CHANNELS) * 0.1, dim=1)
    return [trend + torch.randn(1, 1, CHANNELS) * 5]


def get_init_inputs():
    return [LOOKBACK, CHANNELS, HORIZON, PATCH, STRIDE, D_MODEL]
