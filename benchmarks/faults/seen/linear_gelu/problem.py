"""x @ weight.T + bias, then GELU (exact, by erf, or the tanh form if `approximate`).

Products are accumulated in float32 also for half-precision inputs. Any finite values."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = nn.Linear(inner, outer)

    def forward(self, x, approximate):
        return F.gelu(self.linear(x), approximate="tanh" if approximate else "none")


CASES = [
    dict(name="large", dtype="float16", rows=4096, inner=4096, outer=4096, approximate=False),
    dict(name="odd", dtype="float32", held_out=True, rows=133, inner=333, outer=77, approximate=True),
    dict(name="small", dtype="float32", small=True, rows=20, inner=50, outer=40, approximate=False),
    dict(name="tanh", dtype="float32", small=True, rows=33, inner=70, outer=17, approximate=True),
    dict(name="half", dtype="float16", small=True, rows=16, inner=128, outer=32, approximate=False),
]


def get_inputs(rows=4096, inner=4096, approximate=False):
    return [torch.randn(rows, inner) * 2, approximate]


def get_init_inputs(inner=4096, outer=4096):
    return [inner, outer]
