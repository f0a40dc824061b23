"""Causal depthwise convolution over time with a carried state, as state-space models do while decoding in chunks.

x is (batch, channels, steps), `state` has the last window - 1 inputs before it and is replaced by the last window - 1 inputs
after it (steps may be fewer than that, also one). Weight is (channels, window); then SiLU if `activate`."""

import torch
import torch.nn as nn
import torch.nn.functional as F


MUTATES = ("state",)


class Model(nn.Module):
    def forward(self, x, state, weight, bias, activate):
        steps = x.shape[2]
        full = torch.cat([state, x], dim=2)
        out = sum(full[:, :, k:k + steps] * weight[:, k][None, :, None] for k in range(weight.shape[1])) + bias[None, :, None]
        state.copy_(full[:, :, steps:])
        return F.silu(out) if activate else out


CASES = [
    dict(name="large", dtype="float32", batch=64, channels=2048, steps=64, window=4, activate=True),
    dict(name="odd", dtype="float32", held_out=True, batch=3, channels=77, steps=2, window=4, activate=False),
    dict(name="small", dtype="float32", small=True, batch=3, channels=20, steps=9, window=4, activate=True),
    dict(name="one", dtype="float32", small=True, batch=2, channels=40, steps=1, window=4, activate=False),
    dict(name="three", dtype="float32", small=True, batch=2, channels=17, steps=5, window=3, activate=True),
]


def get_inputs(batch=64, channels=2048, steps=64, window=4, activate=True):
    return [torch.randn(batch, channels, steps), torch.randn(batch, channels, window - 1), torch.randn(channels, window), torch.randn(channels), activate]


def get_init_inputs():
    return []
