"""Softplus with beta and PyTorch's threshold: log(1 + exp(beta x)) / beta, and x itself where beta x > threshold.

beta is any positive number, x any number. Float outputs are judged to relative precision for large negative x too where
they are not denormal."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, beta, threshold):
        return F.softplus(x, beta, threshold)


CASES = [
    dict(name="large", dtype="float32", size=1 << 24, beta=1.0, threshold=20.0),
    dict(name="odd", dtype="float16", held_out=True, size=100003, beta=0.5, threshold=5.0),
    dict(name="small", dtype="float32", small=True, size=2000, beta=1.0, threshold=20.0),
    dict(name="sharp", dtype="float32", small=True, size=900, beta=4.0, threshold=2.0),
]


def get_inputs(size=1 << 24, beta=1.0, threshold=20.0):
    return [torch.randn(size) * 3, beta, threshold]


def get_init_inputs():
    return []
