"""Keys of heads joined to one rotary key that they share."""

import torch
import torch.nn as nn

batch = 2
length = 512
heads = 16
nope = 128
rope = 64

CASES = [
    dict(name="full", batch=2, length=512, heads=16, nope=128, rope=64, dtype="float32"),
    dict(name="odd", held_out=True, batch=1, length=33, heads=5, nope=48, rope=32, dtype="float32"),
    dict(name="small", small=True, batch=2, length=3, heads=2, nope=16, rope=8, dtype="float32"),
]


def rotated(x, cache, positions):
    """Pairs of neighbours in the last dimension of x, (batch, length, heads, width), turned by the angles of positions."""
    cos, sin = cache[positions].unbind(-1)
    cos, sin = cos[:, :, None], sin[:, :, None]
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Model(nn.Module):
    def forward(self, kv, k_pe, cache, positions):
        nope = kv.shape[-1] // 2
        turned = rotated(k_pe[:, :, None], cache, positions)
        return torch.cat([kv[..., :nope], turned.expand(-1, -1, kv.shape[2], -1)], -1)


def get_inputs():
    angle = torch.arange(1024)[:, None] / 10000 ** (torch.arange(rope // 2) * 2 / rope)
    return [
        torch.randn(batch, length, heads, 2 * nope),
        torch.randn(batch, length, rope),
        torch.stack([angle.cos(), angle.sin()], -1),
        torch.randint(0, 1024, (batch, length)),
    ]


def get_init_inputs():
    return []
