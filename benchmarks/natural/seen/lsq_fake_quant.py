"""Learned step size quantisation of a weight, per output channel, with straight-through gradients (QAT)."""

import math

import torch
import torch.nn as nn


def grad_scale(x, scale):
    y = x * scale
    return (x - y).detach() + y


def round_pass(x):
    return (x.round() - x).detach() + x


class Model(nn.Module):
    def __init__(self, bits):
        super().__init__()
        self.qmin = -(2 ** (bits - 1))
        self.qmax = 2 ** (bits - 1) - 1

    def forward(self, weight, step):
        g = 1.0 / math.sqrt(weight[0].numel() * self.qmax)
        step = grad_scale(step, g).unsqueeze(1)
        q = torch.clamp(weight / step, self.qmin, self.qmax)
        return round_pass(q) * step


GRADIENTS = True

CASES = [
    dict(name="ffn", dtype="float32", rows=11008, cols=4096),
    dict(name="conv", dtype="float32", rows=512, cols=4608),
]


def get_inputs(rows=11008, cols=4096):
    weight = torch.randn(rows, cols) * 0.02
    step = 2 * weight.abs().mean(dim=1) / math.sqrt(7)
    return [weight, step]


def get_init_inputs():
    return [4]
