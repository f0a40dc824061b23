"""Decay of a gated delta rule: -exp(A) softplus(g + bias)."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
length = 4096
heads = 16

CASES = [
    dict(name="full", batch=4, length=4096, heads=16, dtype="float32"),
    dict(name="small", small=True, batch=2, length=37, heads=3, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, g, a_log, dt_bias):
        return -a_log.float().exp() * F.softplus(g.float() + dt_bias.float())


def get_inputs():
    return [torch.randn(batch, length, heads), torch.randn(heads), torch.randn(heads)]


def get_init_inputs():
    return []
