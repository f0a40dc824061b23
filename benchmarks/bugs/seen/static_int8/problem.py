"""Activations to int8 with static scales, one for each channel, all powers of two."""

import torch
import torch.nn as nn


class Model(nn.Module):
    """x: (tokens, channels); scale: (channels,)."""

    def forward(self, x, scale):
        return torch.round(x / scale).clamp(-128, 127).to(torch.int8)


CASES = [
    dict(name="8192x4096_bf16", dtype="bfloat16", tokens=8192, channels=4096),
    dict(name="1003x777_fp16", dtype="float16", held_out=True, tokens=1003, channels=777),
    dict(name="small_fp16", dtype="float16", small=True, tokens=7, channels=300),
]


def get_inputs(tokens=8192, channels=4096):
    return [torch.randn(tokens, channels), 2.0 ** torch.randint(-6, -3, (channels,))]


def get_init_inputs():
    return []
