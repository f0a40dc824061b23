"""Cross-attention from an image's feature map to a prompt's tokens, with a padding mask over the tokens.

Text-to-image U-Nets call it at several resolutions.
"""

import torch
import torch.nn as nn

batch = 4
channels = 640
size = 32
text_len = 77
text_dim = 2048
heads = 10


class Model(nn.Module):
    def __init__(self, channels, text_dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (channels // heads) ** -0.5
        self.norm = nn.GroupNorm(32, channels, eps=1e-6)
        self.proj_in = nn.Conv2d(channels, channels, 1)
        self.to_q = nn.Linear(channels, channels, bias=False)
        self.to_k = nn.Linear(text_dim, channels, bias=False)
        self.to_v = nn.Linear(text_dim, channels, bias=False)
        self.to_out = nn.Linear(channels, channels)
        self.proj_out = nn.Conv2d(channels, channels, 1)

    def split(self, x):
        b, n, c = x.shape
        return x.reshape(b, n, self.heads, c // self.heads).permute(0, 2, 1, 3)

    def forward(self, x, text, text_mask):
        b, c, h, w = x.shape
        hidden = self.proj_in(self.norm(x)).flatten(2).transpose(1, 2)
        q, k, v = self.split(self.to_q(hidden)), self.split(self.to_k(text)), self.split(self.to_v(text))
        scores = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        scores = scores + (1.0 - text_mask[:, None, None, :]) * -10000.0
        attended = torch.matmul(scores.softmax(dim=-1), v)
        hidden = hidden + self.to_out(attended.permute(0, 2, 1, 3).reshape(b, h * w, c))
        return x + self.proj_out(hidden.transpose(1, 2).reshape(b, c, h, w))


def get_inputs():
    lengths = torch.randint(8, text_len + 1, (batch,))
    mask = (torch.arange(text_len)[None, :] < lengths[:, None]).float()
    return [torch.randn(batch, channels, size, size), torch.randn(batch, text_len, text_dim), mask]


def get_init_inputs():
    return [channels, text_dim, heads]
