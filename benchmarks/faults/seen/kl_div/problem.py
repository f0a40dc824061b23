"""Kullback-Leibler divergence of log-probabilities against target probabilities, summed over classes, for each row.

Targets are probabilities, zeros included, for which the term is zero whatever the input says (an input may be minus
infinity only where the target is zero... the reference then gives NaN, so inputs are finite). Inputs are finite numbers."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, log_p, q):
        return F.kl_div(log_p, q, reduction="none").sum(-1)


CASES = [
    dict(name="large", dtype="float32", rows=8192, cols=8192),
    dict(name="odd", dtype="float32", held_out=True, rows=77, cols=2049),
    dict(name="small", dtype="float32", small=True, rows=12, cols=100),
    dict(name="long", dtype="float32", small=True, rows=3, cols=600),
]


def get_inputs(rows=8192, cols=8192):
    q = torch.softmax(torch.randn(rows, cols) * 2, -1)
    q = q * (torch.rand(rows, cols) < 0.8)
    return [torch.log_softmax(torch.randn(rows, cols), -1), q]


def get_init_inputs():
    return []
