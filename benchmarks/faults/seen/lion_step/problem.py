"""One Lion step in place: the update is the sign of an interpolation of momentum and gradient; zero where that is zero.

Gradients and momentum are any finite numbers, zeros included (a parameter whose gradient and momentum are zero only decays)."""

import torch
import torch.nn as nn


MUTATES = ("param", "momentum")


class Model(nn.Module):
    def forward(self, param, grad, momentum, lr, weight_decay):
        update = torch.sign(momentum * 0.875 + grad * 0.125)
        param.mul_(1 - lr * weight_decay).add_(update, alpha=-lr)
        momentum.mul_(0.96875).add_(grad, alpha=0.03125)


CASES = [
    dict(name="large", size=1 << 24, lr=1e-3, weight_decay=0.1),
    dict(name="odd", held_out=True, size=100003, lr=3e-2, weight_decay=0.0),
    dict(name="small", small=True, size=1200, lr=0.0625, weight_decay=0.5),
    dict(name="plain", small=True, size=333, lr=0.125, weight_decay=0.0),
]


def get_inputs(size=1 << 24, lr=1e-3, weight_decay=0.1):
    grad, momentum = torch.randn(size), torch.randn(size)
    grad[::9] = 0
    momentum[::6] = 0
    return [torch.randn(size), grad, momentum, lr, weight_decay]


def get_init_inputs():
    return []
