"""Three layers of a decoder in bfloat16: RMSNorm, rotary embedding, causal attention, SwiGLU."""

import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def rotated(x, cos, sin):
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat((-right, left), -1) * sin


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = Norm(width), Norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        qkv = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        made = F.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True)
        x = x + self.out(made.transpose(1, 2).reshape(batch, length, width))
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, width=256, heads=4, layers=3):
        super().__init__()
        self.embed = nn.Embedding(500, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = Norm(width)
        self.register_buffer("rates", 1e4 ** -(torch.arange(0, width // heads, 2) / (width // heads)))

    def forward(self, tokens, positions):
        angles = torch.outer(positions.float(), self.rates).repeat(1, 2)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))
        return self.norm(x)


def build():
    return Decoder().to(torch.bfloat16)


def inputs():
    return {
        "long": {"args": [torch.randint(0, 500, (2, 96)), torch.arange(96)], "share": 0.25},
        "short": [torch.randint(0, 500, (4, 40)), torch.arange(40)],
    }
