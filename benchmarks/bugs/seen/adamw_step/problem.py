"""One step of AdamW, the third of a training."""

import torch
import torch.nn as nn

STEP = 3
RATE, DECAY, BETA1, BETA2, EPSILON = 1e-3, 0.01, 0.9, 0.999, 1e-8
MUTATES = ("parameter", "moment1", "moment2")


class Model(nn.Module):
    """All: (count,). moment2, the mean of squared gradients, is never negative."""

    def forward(self, parameter, grad, moment1, moment2):
        moment1.mul_(BETA1).add_(grad, alpha=1 - BETA1)
        moment2.mul_(BETA2).add_(grad * grad, alpha=1 - BETA2)
        size = (moment2 / (1 - BETA2**STEP)).sqrt() + EPSILON
        parameter.mul_(1 - RATE * DECAY).sub_(RATE * (moment1 / (1 - BETA1**STEP)) / size)


CASES = [
    dict(name="16M_fp32", dtype="float32", count=2**24),
    dict(name="1000003_fp32", dtype="float32", held_out=True, count=1_000_003),
    dict(name="small_fp32", dtype="float32", small=True, count=5000),
]


def get_inputs(count=2**24):
    grad = torch.randn(count) * 1e-2
    return [torch.randn(count) * 0.02, grad, 0.2 * grad, 2e-3 * grad * grad]


def get_init_inputs():
    return []
