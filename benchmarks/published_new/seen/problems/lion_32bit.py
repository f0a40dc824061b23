"""One step of Lion with decoupled weight decay, in place."""

import torch
import torch.nn as nn

n = 4194304

CASES = [
    dict(name="full", n=4194304, dtype="float32"),
    dict(name="odd", n=100003, dtype="float32", held_out=True),
    dict(name="small", small=True, n=700, dtype="float32"),
]

MUTATES = ("p", "state1")

LR = 0.01
DECAY = 0.1


class Model(nn.Module):
    def forward(self, p, g, state1):
        p.mul_(1 - LR * DECAY)
        p.sub_(LR * torch.sign(0.9 * state1 + 0.1 * g))
        state1.mul_(0.999).add_(g, alpha=0.001)


def get_inputs():
    return [torch.randn(n), torch.randn(n), torch.randn(n)]


def get_init_inputs():
    return []
