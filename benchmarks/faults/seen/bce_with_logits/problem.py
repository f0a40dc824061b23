"""Binary cross entropy on logits with a positive-class weight for each column and a weight for each element; no reduction.

Targets are anywhere in [0, 1], logits are any numbers, weights any numbers."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, logits, targets, pos_weight, weight):
        return F.binary_cross_entropy_with_logits(logits, targets, weight=weight, pos_weight=pos_weight, reduction="none")


CASES = [
    dict(name="large", dtype="float32", rows=65536, cols=512),
    dict(name="odd", dtype="float16", held_out=True, rows=1001, cols=333),
    dict(name="small", dtype="float32", small=True, rows=33, cols=45),
    dict(name="half", dtype="float16", small=True, rows=10, cols=130),
]


def get_inputs(rows=65536, cols=512):
    targets = torch.rand(rows, cols)
    targets[::2] = targets[::2].round()
    return [torch.randn(rows, cols) * 4, targets, torch.rand(cols) * 5, torch.randn(rows, cols)]


def get_init_inputs():
    return []
