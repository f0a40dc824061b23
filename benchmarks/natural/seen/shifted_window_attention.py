"""Self-attention in shifted windows of an image, with a learned bias by relative position and a mask that keeps apart
what the shift brought together. Hierarchical vision transformers have it in every second block."""

import torch
import torch.nn as nn

batch = 32
resolution = 56
dim = 96
heads = 3
window = 7


def relative_index(w):
    ys, xs = torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")
    coords = torch.stack((ys.flatten(), xs.flatten()))
    offsets = coords[:, :, None] - coords[:, None, :] + w - 1
    return offsets[0] * (2 * w - 1) + offsets[1]


class Model(nn.Module):
    def __init__(self, dim, heads, resolution, window):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, window // 2
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.bias_table = nn.Parameter(0.02 * torch.randn((2 * window - 1) ** 2, heads))
        self.register_buffer("index", relative_index(window))
        self.register_buffer("mask", self.shift_mask(resolution))

    def partition(self, x):
        b, h, w, c = x.shape
        s = self.window
        x = x.view(b, h // s, s, w // s, s, c).transpose(2, 3)
        return x.reshape(-1, s * s, c)

    def shift_mask(self, resolution):
        band = torch.zeros(resolution)
        band[-self.window : -self.shift] = 1
        band[-self.shift :] = 2
        region = self.partition((3 * band[:, None] + band[None, :])[None, :, :, None]).squeeze(-1)
        return torch.where(region[:, None, :] == region[:, :, None], 0.0, -100.0)

    def forward(self, x):
        b, h, w, c = x.shape
        s = self.window
        rolled = torch.roll(self.norm(x), shifts=(-self.shift, -self.shift), dims=(1, 2))
        windows = self.partition(rolled)
        n = windows.shape[0]
        q, k, v = self.qkv(windows).reshape(n, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        scores = scores + self.bias_table[self.index].permute(2, 0, 1)
        scores = scores.view(b, -1, self.heads, s * s, s * s) + self.mask[None, :, None]
        weights = scores.view(n, self.heads, s * s, s * s).softmax(dim=-1)
        out = self.proj((weights @ v).transpose(1, 2).reshape(n, s * s, c))
        out = out.view(b, h // s, w // s, s, s, c).transpose(2, 3).reshape(b, h, w, c)
        return x + torch.roll(out, shifts=(self.shift, self.shift), dims=(1, 2))


def get_inputs():
    return [torch.randn(batch, resolution, resolution, dim)]


def get_init_inputs():
    return [dim, heads, resolution, window]
