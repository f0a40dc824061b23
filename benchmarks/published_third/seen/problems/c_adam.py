"""The third step of Adam with decoupled weight decay and corrections within its decays, in place."""

import torch
import torch.nn as nn

n = 4194304

CASES = [
    dict(name="full", n=4194304, dtype="float32"),
    dict(name="odd", held_out=True, n=100003, dtype="float32"),
    dict(name="small", small=True, n=700, dtype="float32"),
]

MUTATES = ("p", "m", "v")


class Model(nn.Module):
    def forward(self, p, g, m, v):
        first, second = (0.9**3 - 0.9) / (0.9**3 - 1), (0.99**3 - 0.99) / (0.99**3 - 1)
        p.mul_(0.999)
        m.mul_(first).add_(g, alpha=1 - first)
        v.mul_(second).addcmul_(g, g, value=1 - second)
        p.addcdiv_(m, v.sqrt().add(1e-6), value=-0.01)


def get_inputs():
    return [torch.randn(n), torch.randn(n), torch.randn(n), torch.rand(n)]


def get_init_inputs():
    return []
