"""RMSNorm and a linear layer with GELU; any library step is allowed"""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 7

LIBRARY = "any"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(48))
        self.linear = nn.Linear(48, 40)

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return F.gelu(self.linear(x), approximate="none")


CASES = [
    dict(name="ragged", dtype="float32", small=True),
    dict(name="half", dtype="float16", small=True),
    dict(name="timed", dtype="float32", rows=70),
]


def get_inputs():
    return [torch.randn(rows, 48)]


def get_init_inputs():
    return []
