"""Scales a gradient in place so that its norm is at most max_norm, as clip_grad_norm_ does, and returns the norm.

The factor is max_norm / (norm + 1e-6), at most 1. Any finite values whose squares' sum is finite in float32; all zeros too."""

import torch
import torch.nn as nn


MUTATES = ("grad",)


class Model(nn.Module):
    def forward(self, grad, max_norm):
        norm = grad.float().square().sum().sqrt() if grad.dtype != torch.float64 else grad.square().sum().sqrt()
        grad.mul_((max_norm / (norm + 1e-6)).clamp(max=1.0).to(grad.dtype))
        return norm


CASES = [
    dict(name="large", dtype="float32", size=1 << 24, max_norm=1.0),
    dict(name="odd", dtype="float32", held_out=True, size=50001, max_norm=1000.0),
    dict(name="small", dtype="float32", small=True, size=3000, max_norm=1.0),
    dict(name="loose", dtype="float32", small=True, size=777, max_norm=100.0),
]


def get_inputs(size=1 << 24, max_norm=1.0):
    return [torch.randn(size), max_norm]


def get_init_inputs():
    return []
