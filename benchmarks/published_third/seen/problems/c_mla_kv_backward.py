"""Gradients of keys with a shared rotary part, and of values, as one."""

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


class Model(nn.Module):
    def forward(self, grad_k, grad_v, cache, positions):
        rope = 2 * cache.shape[1]
        shared = grad_k[..., -rope:].sum(2)
        cos, sin = cache[positions].unbind(-1)
        even, odd = shared[..., ::2], shared[..., 1::2]
        turned = torch.stack([even * cos + odd * sin, odd * cos - even * sin], -1).flatten(-2)
        return torch.cat([grad_k[..., :-rope], grad_v], -1), turned


def get_inputs():
    angle = torch.arange(1024)[:, None] / 10000 ** (torch.arange(rope // 2) * 2 / rope)
    return [
        torch.randn(batch, length, heads, nope + rope),
        torch.randn(batch, length, heads, nope),
        torch.stack([angle.cos(), angle.sin()], -1),
        torch.randint(0, 1024, (batch, length)),
    ]


def get_init_inputs():
    return []
