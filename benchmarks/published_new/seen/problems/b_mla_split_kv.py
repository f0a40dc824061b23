"""Keys and values split, and one rotated embedding put beside each head's key."""

import torch
import torch.nn as nn

length = 1024
batch = 2
heads = 16
plain = 128
rotary = 64

CASES = [
    dict(name="full", length=1024, batch=2, heads=16, plain=128, rotary=64, dtype="float16"),
    dict(name="odd", held_out=True, length=33, batch=3, heads=8, plain=64, rotary=32, dtype="float32"),
    dict(name="small", small=True, length=5, batch=2, heads=4, plain=16, rotary=8, dtype="float32"),
]


def rotate_pairs(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return torch.cat([a * cos[..., :half] - b * sin[..., :half], b * cos[..., half:] + a * sin[..., half:]], -1)


class Model(nn.Module):
    def forward(self, kv, embedding, cos, sin, plain):
        turned = rotate_pairs(embedding, cos[:, None, None], sin[:, None, None])
        keys = torch.cat([kv[..., :plain], turned.expand(-1, -1, kv.shape[2], -1)], -1)
        return keys, kv[..., plain:].contiguous()


def get_inputs():
    return [
        torch.randn(length, batch, heads, 2 * plain),
        torch.randn(length, batch, 1, rotary),
        torch.randn(length, rotary),
        torch.randn(length, rotary),
        plain,
    ]


def get_init_inputs():
    return []
