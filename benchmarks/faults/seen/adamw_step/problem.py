"""One AdamW step in place: parameters, first and second moments; decoupled weight decay and bias correction.

Gradients are any finite numbers, zeros included; exp_avg_sq is not negative. `step` counts from 1. Everything float32 but
the gradient, which may be half precision."""

import torch
import torch.nn as nn


MUTATES = ("param", "exp_avg", "exp_avg_sq")


class Model(nn.Module):
    def forward(self, param, grad, exp_avg, exp_avg_sq, step, lr, weight_decay):
        beta1, beta2, eps = 0.9, 0.95, 1e-8
        g = grad.to(param.dtype)
        param.mul_(1 - lr * weight_decay)
        exp_avg.mul_(beta1).add_(g, alpha=1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        denominator = (exp_avg_sq / correction2).sqrt() + eps
        param.sub_(lr * (exp_avg / correction1) / denominator)


CASES = [
    dict(name="large", size=1 << 24, step=100, lr=1e-3, weight_decay=0.1),
    dict(name="odd", held_out=True, size=100003, step=1, lr=3e-4, weight_decay=0.0),
    dict(name="small", small=True, size=1000, step=1, lr=1e-2, weight_decay=0.1),
    dict(name="later", small=True, size=777, step=5, lr=1e-3, weight_decay=0.01),
]


def get_inputs(size=1 << 24, step=100, lr=1e-3, weight_decay=0.1):
    return [torch.randn(size), torch.randn(size), torch.randn(size), torch.randn(size).square(), step, lr, weight_decay]


def get_init_inputs():
    return []
