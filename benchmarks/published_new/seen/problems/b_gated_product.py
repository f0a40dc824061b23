"""First half of a gate times SiLU of its second half times another factor."""

import torch
import torch.nn as nn

batch = 8
length = 512
width = 1000

CASES = [
    dict(name="full", batch=8, length=512, width=1000, dtype="float32"),
    dict(name="small", small=True, batch=2, length=3, width=37, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, gate, up):
        first, second = gate.chunk(2, -1)
        return first * second * torch.sigmoid(second) * up


def get_inputs():
    return [torch.randn(batch, length, 2 * width), torch.randn(batch, length, width)]


def get_init_inputs():
    return []
