"""Cross entropy of every token, with its gradient; tokens with label -100 are left out."""

import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 1024
vocabulary = 32000

CASES = [
    dict(name="full", rows=1024, vocabulary=32000, dtype="float32"),
    dict(name="odd", held_out=True, rows=9, vocabulary=5003, dtype="float32"),
    dict(name="small", small=True, rows=5, vocabulary=37, dtype="float32"),
]

GRADIENTS = True


class Model(nn.Module):
    def forward(self, x, target):
        return F.cross_entropy(x, target, ignore_index=-100, reduction="none")


def get_inputs():
    target = torch.randint(0, vocabulary, (rows,))
    target[0] = -100
    return [torch.randn(rows, vocabulary), target]


def get_init_inputs():
    return []
