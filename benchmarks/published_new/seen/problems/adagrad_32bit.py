"""One step of Adagrad with weight decay in the gradient, in place."""

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
        g = g + DECAY * p
        state1.add_(g * g)
        p.sub_(LR * g / (state1.sqrt() + 1e-8))


def get_inputs():
    return [torch.randn(n), torch.randn(n), torch.randint(0, 9, (n,)).float()]


def get_init_inputs():
    return []
