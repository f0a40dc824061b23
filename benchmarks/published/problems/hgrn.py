"""Gated linear recurrence h = exp(g) h + x with g at most 0."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
length = 64
width = 512

CASES = [
    dict(name="full", batch=4, length=64, width=512, dtype="float32"),
    dict(name="small", small=True, batch=2, length=7, width=40, dtype="float32"),
]


class Model(nn.Module):
    def forward(self, x, g):
        decay = F.logsigmoid(g).exp()
        state = torch.zeros_like(x[:, 0])
        output = []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + x[:, t]
            output.append(state)
        return torch.stack(output, 1)


def get_inputs():
    return [torch.randn(batch, length, width), torch.randn(batch, length, width)]


def get_init_inputs():
    return []
